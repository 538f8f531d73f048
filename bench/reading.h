// Timed reads. They are warmed up, and every value is checked.

#pragma once

#include <cstdint>
#include <stdexcept>

#include "bench/dataset.h"
#include "bench/latency.h"
#include "bench/streams.h"

namespace lapse::bench {

inline void check(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

struct Gets {
  uint64_t count;
  uint64_t entries;  // among which to choose
  IndexOf index_of = entry_to_get;
  bool present = true;
};

struct GetTiming {
  double gets_per_second = 0;
  double cpu_us_a_get = 0;
};

// `get_one(key, &value_sum)` is how to read.
template <typename GetOne>
void get_range(const Gets& gets, uint64_t from, uint64_t to, GetOne get_one) {
  for (uint64_t i = from; i < to; ++i) {
    const uint64_t index = gets.index_of(i, gets.entries);
    const Dataset::Key key = Dataset::key(index);
    uint64_t value_sum = 0;
    const bool found = get_one(view(key), &value_sum);
    check(found == gets.present, found ? "an entry that was never put is there" : "an entry is not there");
    check(!found || value_sum == Dataset::value_sum(index), "an entry has the wrong value");
  }
}

// Has `read(from, to)` read the from-th to the to-th of `count`, and some more to warm up.
template <typename Read>
GetTiming time_reads(uint64_t count, Read read) {
  read(count, count + count / 5);
  const double cpu_before = cpu_seconds();
  const Stopwatch watch;
  read(0, count);
  const double reads = static_cast<double>(count);
  return {reads / watch.seconds(), (cpu_seconds() - cpu_before) * 1e6 / reads};
}

template <typename GetOne>
GetTiming time_gets(const Gets& gets, GetOne get_one) {
  return time_reads(gets.count, [&](uint64_t from, uint64_t to) { get_range(gets, from, to, get_one); });
}

// What a scan of the entries [from, to) is to find.
inline ScanTotals totals_of(uint64_t from, uint64_t to) {
  ScanTotals totals{.entries = to - from};
  for (uint64_t index = from; index < to; ++index) {
    totals.key_sum += Dataset::key_sum(index);
    totals.value_sum += Dataset::value_sum(index);
  }
  return totals;
}

}  // namespace lapse::bench
