// The bytes of a journal file, and what makes them valid.
//
// A file is a header, kept twice, and records. Integers are little-endian.
//
//   offset  size
//        0   512   header, first copy
//     4096   512   header, second copy
//     8192     …   records, each 8-byte aligned, up to the first place that holds no valid one
//
//   header                                          record
//        0     8   "LAPSEJNL"                            0     4   magic, derived from the file's salt
//        8     4   format version, 2                     4     4   payload bytes
//       12     4   zero                                  8     8   sequence
//       16    16   store id                             16     8   newest sequence known to be synced
//       32     8   salt, random for each use            24     8   checksum of the record before it
//       40     8   file number, 1, 2, 3, …              32     8   checksum of this record
//       48     8   sequence of the first record         40     n   payload
//       56     8   checksum of the record before it     40+n       zeros up to a multiple of 8
//       64     8   newest sequence known to be synced
//       72     8   1 if closed cleanly                payload: writes, one after the other
//       80     8   checksum of bytes 0 to 79             1 byte  1: put, 2: erase
//                                                        varint  key bytes
//                                                        varint  value bytes (put only)
//                                                                key, value
//
// A header is valid if and only if its magic and version are right and its checksum holds. Of two valid
// copies the one with the higher file number counts, then the one closed cleanly: both copies are written
// when a file is put to use, unsynced, and after that one at a time, synced in between; so whatever a power
// cut leaves, or one flipped bit, or one lost block, a valid copy remains of every file whose records were ever synced.
//
// A record stands alone if and only if its magic is that of the file's salt, its length fits into the file,
// and its checksum (seeded by the salt, over bytes 0 to 31 and the payload) holds. It is valid if and only
// if it stands alone, its sequence is its predecessor's plus one, and it names its predecessor's checksum.
// The chain goes on from file to file.
//
// A file is used again under a new salt, so nothing old in it ever stands.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lapse/status.h"

namespace lapse::engine {

inline constexpr uint32_t kJournalVersion = 2;
inline constexpr size_t kJournalHeaderCopyBytes = 512;  // a sector each
inline constexpr size_t kJournalHeaderStride = 4096;    // from one to the other: a block each
inline constexpr size_t kJournalRecordsOffset = 2 * kJournalHeaderStride;
inline constexpr size_t kRecordHeaderBytes = 40;

using StoreId = std::array<char, 16>;

struct JournalHeader {
  StoreId store_id{};
  uint64_t salt = 0;
  uint64_t file_number = 0;
  uint64_t first_sequence = 0;
  uint64_t chain = 0;
  uint64_t synced_sequence = 0;
  bool clean = false;

  // kJournalHeaderCopyBytes of them.
  std::string encode() const;
};

// What the first kJournalRecordsOffset bytes of a file say.
struct HeaderPair {
  enum class State {
    kValid,
    kNone,         // never put to use, or torn while it was
    kForeign,      // not a journal at all
    kUnsupported,  // a journal of another format
  };
  State state = State::kNone;
  JournalHeader header;  // of kValid
};
HeaderPair decode_headers(std::string_view file);

struct Record {
  uint64_t sequence = 0;
  uint64_t synced_sequence = 0;
  uint64_t chain = 0;     // the predecessor's checksum
  uint64_t checksum = 0;  // its own
  std::string_view payload;

  size_t file_bytes() const;  // in the file, padding included
};

// Bytes that a record with such a payload takes.
size_t record_bytes(size_t payload_bytes);

// Fills in the header of a record whose payload already stands behind kRecordHeaderBytes in `record`, and
// pads it. Returns its checksum.
uint64_t seal_record(std::string* record, uint64_t salt, uint64_t sequence, uint64_t synced_sequence,
                     uint64_t chain);

// What every record of a file begins with. Never 0, so that zeroed space holds none.
uint32_t record_magic(uint64_t salt);

// The record at `offset`, if one stands there alone.
std::optional<Record> decode_record(std::string_view file, size_t offset, uint64_t salt);

// A key's new value, or none: erased.
struct Write {
  std::string_view key;
  std::optional<std::string_view> value;
};

void append_write(std::string* payload, const Write& write);
// Upper bound of what append_write() adds.
size_t encoded_write_bytes(size_t key_bytes, size_t value_bytes);
// Takes one write off the front; nothing if the bytes make no sense.
std::optional<Write> take_write(std::string_view* payload);

}  // namespace lapse::engine
