#include "base/random.h"

#include <random>

namespace lapse {

uint64_t random_u64() {
  std::random_device device;  // getrandom() or its like
  return (uint64_t{device()} << 32) | device();
}

}  // namespace lapse
