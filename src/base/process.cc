#include "lapse/process.h"

#include <pthread.h>

#include <atomic>

namespace lapse {

namespace {
std::atomic<uint64_t> generation{0};
}  // namespace

uint64_t fork_generation() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace lapse
