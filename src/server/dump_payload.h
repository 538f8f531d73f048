// DUMP's payloads, which are Redis's own: a value can go from here to a Redis and back.
//
//   type        1 byte    0: a string
//   value       n bytes   as in an RDB file, below
//   version     2 bytes   of the RDB format, little-endian
//   checksum    8 bytes   crc64 of all that stands before it, little-endian
//
// A string begins with its length or, in place of it, with how it is encoded:
//
//   00llllll                      6 bits of length, then the bytes
//   01llllll llllllll             14 bits, big-endian
//   10000000 and 4 bytes          32 bits, big-endian
//   10000001 and 8 bytes          64 bits, big-endian
//   11000000 and 1, …01 and 2, …10 and 4 bytes    an integer, little-endian: the value is its decimal text
//   11000011 length length bytes  LZF: compressed length, length, compressed bytes
//
// Valid if and only if the checksum fits, the version is one that has this form, and nothing is left over.

#pragma once

#include <string>
#include <string_view>

#include "lapse/status.h"

namespace lapse::server {

std::string to_dump_payload(std::string_view value);

// Refused as RESTORE refuses it: "ERR DUMP payload version or checksum are wrong", "ERR Bad data format"; and
// what is of another type than a string, with that for a reason.
Result<std::string> from_dump_payload(std::string_view payload);

}  // namespace lapse::server
