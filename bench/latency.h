// Time: stopwatches, and a histogram of latencies whose buckets are at most 1.6 % wide, so that ten
// million of them cost 30 KB.

#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

namespace lapse::bench {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  // Since the start, or since the last lap.
  uint64_t lap_ns() {
    const auto now = std::chrono::steady_clock::now();
    const auto lap = std::chrono::duration_cast<std::chrono::nanoseconds>(now - lap_start_);
    lap_start_ = now;
    return static_cast<uint64_t>(lap.count());
  }
  double seconds_at_lap() const { return std::chrono::duration<double>(lap_start_ - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point lap_start_ = start_;
};

// That this process has used so far, all threads together.
inline double cpu_seconds() {
  timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

class LatencyHistogram {
 public:
  void record(uint64_t ns) {
    ++counts_[bucket_of(ns)];
    ++total_;
    max_ns_ = std::max(max_ns_, ns);
  }

  void merge(const LatencyHistogram& other) {
    for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
    max_ns_ = std::max(max_ns_, other.max_ns_);
  }

  uint64_t total() const { return total_; }
  double max_us() const { return static_cast<double>(max_ns_) / 1e3; }

  // The latency that `fraction` of all operations stayed below.
  double percentile_us(double fraction) const {
    const auto wanted = static_cast<uint64_t>(fraction * static_cast<double>(total_));
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen > wanted) return std::min(upper_end_ns(i) / 1e3, max_us());
    }
    return max_us();
  }

 private:
  static constexpr size_t kSubBits = 6;  // 64 buckets for each power of two
  static constexpr size_t kSub = 1 << kSubBits;
  static constexpr size_t kBuckets = kSub * (64 - kSubBits + 1);

  static size_t bucket_of(uint64_t ns) {
    if (ns < kSub) return ns;
    const size_t shift = static_cast<size_t>(std::bit_width(ns)) - kSubBits - 1;
    return kSub * (shift + 1) + ((ns >> shift) - kSub);
  }
  static double upper_end_ns(size_t bucket) {
    if (bucket < kSub) return static_cast<double>(bucket + 1);
    const size_t shift = bucket / kSub - 1;
    return static_cast<double>(bucket % kSub + kSub + 1) * static_cast<double>(1UL << shift);
  }

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t total_ = 0;
  uint64_t max_ns_ = 0;
};

}  // namespace lapse::bench
