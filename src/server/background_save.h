// BackgroundSave: brings everything into the tree on a thread of its own, so that clients need not wait for it.

#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "lapse/store.h"

namespace lapse::server {

class BackgroundSave {
 public:
  BackgroundSave() = default;
  ~BackgroundSave() { (void)wait(); }
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // From start() until the result is taken.
  bool in_progress() const { return thread_.joinable(); }
  // The store must stay until the end of it. REQUIRES: !in_progress()
  Status start(Store* store);
  // What became of it, once it has ended.
  std::optional<Status> take_result();
  // The same, however long it takes; nothing if none is in progress.
  std::optional<Status> wait();

 private:
  std::thread thread_;
  std::atomic<bool> ended_{false};
  Status result_;  // to be read when the thread has been joined
};

}  // namespace lapse::server
