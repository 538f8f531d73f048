// WriterToken: the place of the one writer. Not a mutex: it belongs to a transaction, which may move between
// threads, and whoever would wait for itself is told so instead.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/engine.h"
#include "lapse/status.h"

namespace lapse::engine {

class WriterToken {
 public:
  Status acquire(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (held_ && owner_.load(std::memory_order_relaxed) == std::this_thread::get_id())
      return {StatusCode::kBusy, "this thread has a transaction open already"};
    const auto is_free = [this] { return !held_; };
    // Times since boot are counted in nanoseconds: three hundred years would overflow.
    constexpr std::chrono::hours kAsGoodAsForever(24 * 365 * 100);
    if (timeout >= kAsGoodAsForever) {
      freed_.wait(lock, is_free);
    } else if (!freed_.wait_for(lock, timeout, is_free)) {
      return {StatusCode::kBusy,
              "another transaction is open; waited " + std::to_string(timeout.count()) + " ms"};
    }
    held_ = true;
    note_use();
    return {};
  }

  // The calling thread is the one that has the transaction now. REQUIRES: held
  void note_use() { owner_.store(std::this_thread::get_id(), std::memory_order_relaxed); }

  void release() {
    {
      std::lock_guard lock(mutex_);
      held_ = false;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool held_ = false;
  std::atomic<std::thread::id> owner_;
};

}  // namespace lapse::engine
