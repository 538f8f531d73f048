// What becomes of work that there is no memory for: it fails, and the process goes on.

#pragma once

#include <new>

namespace lapse {

// Does it; false: there was not enough memory, and whoever asked has to clean up, without taking any.
template <typename Work>
bool has_memory_for(const Work& work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// For destructors and the like, which have nobody to tell: what is left undone is left undone.
template <typename Work>
void quietly(const Work& work) noexcept {
  (void)has_memory_for(work);
}

}  // namespace lapse
