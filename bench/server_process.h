// A server under test, Lapse or Redis, as a process of its own on a free loopback port; and what redis-benchmark finds out
// about it.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lapse::bench {

// How soon what a client was told is on the disk: within a second, or before it was told.
enum class SyncLevel { kEverySecond, kAlways };

class ServerProcess {
 public:
  // `store` is "lapse" or "redis". Its files go into `folder`, which is made. `options` are more words for its command line.
  ServerProcess(const std::string& store, SyncLevel level, std::filesystem::path folder,
                const std::vector<std::string>& options = {});
  // Ends it, by SIGTERM.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  // Sets the keys key:000000000000 … that redis-benchmark reads and writes.
  void load(uint64_t keys, size_t value_bytes) const;
  // Heap and stacks, once Lapse has moved what it buffers into its tree.
  double anonymous_bytes() const;

  struct Load {
    uint64_t requests;
    int pipeline;
    uint64_t keys;
  };
  // Commands a second. In the command, __rand_int__ stands for one of the keys' numbers.
  double measure(const Load& load, const std::vector<std::string>& command) const;

  static constexpr int kClients = 50;

 private:
  void wait_until_it_answers() const;
  void check(const std::vector<std::string>& command) const;
  std::string ask(const std::string& request, size_t replies) const;

  std::filesystem::path folder_;
  int port_;
  pid_t pid_;
};

// The name and version of redis-server, in a line.
std::string redis_version();

}  // namespace lapse::bench
