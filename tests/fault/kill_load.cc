#include "kill_load.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <stdexcept>

#include "base/try.h"
#include "fault_env.h"
#include "file_image.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

constexpr uint64_t kKeys = 12;  // of each thread, beside its counter

enum class Touch { kNone, kPut, kErase };

uint64_t dice(uint64_t seed, int thread, uint64_t n, uint64_t key) {
  return mix(seed + static_cast<uint64_t>(thread), n, key);
}

Touch touch_of(uint64_t seed, int thread, uint64_t n, uint64_t key) {
  const uint64_t roll = dice(seed, thread, n, key) % 12;
  return roll < 3 ? Touch::kPut : roll == 3 ? Touch::kErase : Touch::kNone;
}

std::string key_name(int thread, uint64_t key) {
  std::string name = "thread" + std::to_string(thread) + "/";
  if (key == 0) name += std::string(700, 'x');  // longer than LMDB takes
  return name + std::to_string(key);
}

// Says whose it is, all along its length: bytes of two values cannot pass for one.
std::string value_of(uint64_t seed, int thread, uint64_t n, uint64_t key) {
  const uint64_t roll = dice(seed, thread, n, key + 1000);
  const size_t size = roll % 50 == 0 ? 12'000 : roll % 8 == 0 ? 2000 : roll % 200;
  const std::string unit = std::to_string(thread) + "/" + std::to_string(key) + "@" + std::to_string(n) + " ";
  std::string value;
  while (value.size() < size) value += unit;
  return value;
}

}  // namespace

void KillBoard::fail(const std::string& text) {
  std::memcpy(error, text.data(), std::min(text.size(), sizeof error - 1));
  failed = true;
}

KillBoard* map_board(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR);
  void* memory = mmap(nullptr, sizeof(KillBoard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<KillBoard*>(memory);
}

void create_board(const std::string& path) { write_whole_file(path, std::string(sizeof(KillBoard), '\0')); }

std::string counter_key(int thread) { return "thread" + std::to_string(thread) + "/count"; }

Commit kill_commit(uint64_t seed, int thread, uint64_t n) {
  Commit commit;
  for (uint64_t key = 0; key < kKeys; ++key) {
    switch (touch_of(seed, thread, n, key)) {
      case Touch::kPut: commit.push_back({key_name(thread, key), value_of(seed, thread, n, key)}); break;
      case Touch::kErase: commit.push_back({key_name(thread, key), std::nullopt}); break;
      case Touch::kNone: break;
    }
  }
  commit.push_back({counter_key(thread), std::to_string(n)});
  return commit;
}

State kill_state(uint64_t seed, int thread, uint64_t n) {
  State state;
  if (n == 0) return state;
  state[counter_key(thread)] = std::to_string(n);
  for (uint64_t key = 0; key < kKeys; ++key) {
    for (uint64_t last = n; last > 0; --last) {
      const Touch touch = touch_of(seed, thread, last, key);
      if (touch == Touch::kNone) continue;
      if (touch == Touch::kPut) state[key_name(thread, key)] = value_of(seed, thread, last, key);
      break;
    }
  }
  return state;
}

Result<uint64_t> commits_seen(const engine::Reader& reader, int thread) {
  LAPSE_TRY_ASSIGN(const auto text, reader.get(counter_key(thread)));
  uint64_t n = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), n);
  return n;
}

engine::LocalOptions kill_options(uint64_t seed, uint64_t round) {
  Random random(mix(seed, round, 77));
  engine::LocalOptions options = odd_options(random);
  if (random.one_in(4)) options.buffer_bytes = 256 << 10;
  return options;
}

}  // namespace lapse::fault
