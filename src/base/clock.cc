#include "base/clock.h"

#include <ctime>

namespace lapse {

int64_t BootClock::now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace lapse
