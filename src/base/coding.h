// Integers as bytes. Little-endian in records, where they are only stored; big-endian in keys, where
// byte order must be number order; varints where small values are the rule.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace lapse {

static_assert(std::endian::native == std::endian::little, "formats are little-endian");

template <typename T>
void store_le(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
T load_le(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline void store_be64(void* to, uint64_t value) { store_le(to, __builtin_bswap64(value)); }
inline uint64_t load_be64(const void* from) { return __builtin_bswap64(load_le<uint64_t>(from)); }

inline size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Writes varint_size(value) bytes; returns the end.
inline char* store_varint(char* to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

// Takes a varint off the front of `in`; nothing if it is cut short or over 64 bits.
inline std::optional<uint64_t> take_varint(std::string_view* in) {
  uint64_t value = 0;
  for (size_t i = 0; i < in->size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>((*in)[i]);
    if (i == 9 && byte > 1) return std::nullopt;
    value |= uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) {
      in->remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace lapse
