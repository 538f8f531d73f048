#include "server/background_save.h"

#include <system_error>
#include <utility>

#include "base/memory.h"

namespace lapse::server {

Status BackgroundSave::start(Store* store) {
  ended_.store(false);
  result_ = Status(StatusCode::kIoError, "no memory to save with");
  try {
    thread_ = std::thread([this, store] {
      (void)has_memory_for([&] { result_ = store->checkpoint(); });
      ended_.store(true);
    });
  } catch (const std::system_error& error) {
    return {StatusCode::kIoError, std::string("no thread to save by: ") + error.what()};
  }
  return {};
}

std::optional<Status> BackgroundSave::take_result() { return ended_.load() ? wait() : std::nullopt; }

std::optional<Status> BackgroundSave::wait() {
  if (!thread_.joinable()) return std::nullopt;
  thread_.join();
  return std::exchange(result_, Status());
}

}  // namespace lapse::server
