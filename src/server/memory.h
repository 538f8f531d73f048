// What becomes of work that there is no memory for: it fails, and the server goes on.

#pragma once

#include <new>

namespace lapse::server {

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

}  // namespace lapse::server
