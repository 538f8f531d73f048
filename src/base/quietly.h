// quietly(): for destructors, which have nobody to tell.

#pragma once

#include <new>

namespace lapse {

// Runs `work`. If memory runs out in the middle, what is left undone is left undone.
template <typename Work>
void quietly(Work work) noexcept {
  try {
    work();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace lapse
