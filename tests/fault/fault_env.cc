#include "fault_env.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace lapse::fault {

uint64_t count_from_env(const char* name, uint64_t plain_default, uint64_t sanitized_default) {
  if (const char* text = std::getenv(name)) return std::strtoull(text, nullptr, 10);
  return kSanitized ? sanitized_default : plain_default;
}

uint64_t test_seed() {
  const char* text = std::getenv("LAPSE_SEED");
  const uint64_t seed = text ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  std::printf("LAPSE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

std::string Random::bytes(size_t size) {
  std::string result(size, '\0');
  for (char& byte : result) byte = static_cast<char>(next());
  return result;
}

uint64_t mix(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b * 0xbf58476d1ce4e5b9 + c * 0x94d049bb133111eb + 1;
  for (int round = 0; round < 3; ++round) {
    x ^= x >> 31;
    x *= 0xd6e8feb86659fd93;
  }
  return x ^ (x >> 32);
}

std::string disk_directory() {
  const char* tmpdir = std::getenv("TMPDIR");
  return tmpdir != nullptr && *tmpdir != '\0' ? tmpdir : "/tmp";
}

namespace {

std::string scratch_root;  // of the ScratchRoot that lives, if one does

std::string scratch_parent() {
  if (!scratch_root.empty()) return scratch_root;
  if (const char* chosen = std::getenv("LAPSE_FAULT_DIR")) return chosen;
  return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : disk_directory();
}

}  // namespace

ScratchDir::ScratchDir() : ScratchDir(scratch_parent()) {}

ScratchDir::ScratchDir(const std::string& parent) : path_(parent + "/lapse-fault-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), path_);
  }
}

ScratchDir::~ScratchDir() {
  if (std::getenv("LAPSE_FAULT_KEEP") != nullptr) {
    std::printf("kept: %s\n", path_.c_str());
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ScratchRoot::ScratchRoot() { scratch_root = dir_.path(); }

ScratchRoot::~ScratchRoot() { scratch_root.clear(); }

}  // namespace lapse::fault
