#include "support/starvation.h"

#include <cstdlib>
#include <new>
#include <utility>

namespace {

constexpr int kAnyNumber = -1;
thread_local int allocations_left = kAnyNumber;

void* allocate(size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace lapse {

Starvation::Starvation(int allowed) { allocations_left = allowed; }
Starvation::~Starvation() { allocations_left = kAnyNumber; }
bool Starvation::ended_with_some_left() { return std::exchange(allocations_left, kAnyNumber) > 0; }

}  // namespace lapse
