#include "server/crc64.h"

#include <array>
#include <cstddef>

namespace lapse::server {

namespace {

constexpr uint64_t kReflectedPolynomial = 0x95ac9329ac4bc9b5;

constexpr std::array<uint64_t, 256> make_table() {
  std::array<uint64_t, 256> table{};
  for (size_t byte = 0; byte < table.size(); ++byte) {
    uint64_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ kReflectedPolynomial : crc >> 1;
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint64_t, 256> kTable = make_table();

}  // namespace

uint64_t crc64(std::string_view bytes) {
  uint64_t crc = 0;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ crc >> 8;
  return crc;
}

}  // namespace lapse::server
