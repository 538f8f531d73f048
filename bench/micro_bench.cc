// lapse-micro-bench: what single functions cost. Each subject has its own section, and its own
// names.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "base/coding.h"

namespace lapse {
namespace {

// Checksum: what each read verifies and each journal record carries.

void checksum_of_bytes(benchmark::State& state) {
  const std::string bytes(static_cast<size_t>(state.range(0)), 'x');
  uint64_t seed = 0;
  for (auto _ : state) benchmark::DoNotOptimize(seed = checksum(bytes, seed));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(checksum_of_bytes)->Arg(16)->Arg(116)->Arg(1 << 10)->Arg(64 << 10);

void checksum_of_entry(benchmark::State& state) {
  const std::string key(16, 'k');
  const std::string value(100, 'v');
  uint64_t seed = 0;
  for (auto _ : state) benchmark::DoNotOptimize(seed = checksum(key, value, seed));
}
BENCHMARK(checksum_of_entry);

// Coding: varints of one byte to ten, and the big-endian integers in keys.

void varint_store(benchmark::State& state) {
  const uint64_t value = UINT64_MAX >> (64 - state.range(0));
  std::array<char, 10> buffer;
  for (auto _ : state) benchmark::DoNotOptimize(store_varint(buffer.data(), value));
}
BENCHMARK(varint_store)->Arg(7)->Arg(14)->Arg(32)->Arg(64);

void varint_take(benchmark::State& state) {
  std::array<char, 10> buffer;
  const char* end = store_varint(buffer.data(), UINT64_MAX >> (64 - state.range(0)));
  for (auto _ : state) {
    std::string_view in(buffer.data(), static_cast<size_t>(end - buffer.data()));
    benchmark::DoNotOptimize(take_varint(&in));
  }
}
BENCHMARK(varint_take)->Arg(7)->Arg(14)->Arg(32)->Arg(64);

void big_endian_round_trip(benchmark::State& state) {
  std::array<char, 8> buffer;
  uint64_t value = 0;
  for (auto _ : state) {
    store_be64(buffer.data(), ++value);
    benchmark::DoNotOptimize(value = load_be64(buffer.data()));
  }
}
BENCHMARK(big_endian_round_trip);

// To come, once they exist: the write buffer (insert, get, a miss in a half-full one) and the
// journal (append of one record, mapped and by pwrite()).

}  // namespace
}  // namespace lapse
