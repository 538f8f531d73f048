// CRC-64 as Redis has it: Jones's polynomial ad93d23594c935a9, bits reflected, beginning and ending at 0.
// Of "123456789" it is e9c6d914c4b8d9ca.

#pragma once

#include <cstdint>
#include <string_view>

namespace lapse::server {

uint64_t crc64(std::string_view bytes);

}  // namespace lapse::server
