// What a row holds: a value, and of the following what its tag byte says.
//
//   data row       tag 1 · deadline 8? · (written_at 8, revision 8)?
//                  · (ordinal varint, oldest_written_at 8, oldest_revision 8)? · value
//   history row    tag 1 · deadline 8? · ending 1 · ended_at 8 · ordinal varint
//                  · (oldest_written_at 8, oldest_revision 8)? · value
//
//   tag & 1    it has a deadline
//   tag & 2    it has a revision (data rows only: of a history row, the key has it)
//   tag & 4    a data row: its key has history; a history row: it says where that begins
//   others     0; anything else was written by a newer Lapse
//
// Numbers are little-endian, times in milliseconds. A row without a lifetime in a family without revisions is one
// byte and the value: the rest costs only those who use it.
//
// The ordinal counts the revisions of a key, 1, 2, 3, …, so that the number between two is known without walking.
// (oldest_written_at, oldest_revision) is where the key's history begins: nothing stands before it, so that neither trimming
// nor looking back ever walks over what was removed of a key that is written all day. A key without a data row has it
// in its newest history row, the one that was erased or expired.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "lapse/keyspace.h"
#include "lapse/lifetime.h"
#include "lapse/status.h"

namespace lapse::internal {

struct RevisionInfo {
  int64_t written_at_ms = 0;
  uint64_t number = 0;
  // In families with history; else 0.
  uint64_t ordinal = 0;
  int64_t oldest_written_at_ms = 0;
  uint64_t oldest_number = 0;
};

// A view into the bytes it was decoded from.
struct Row {
  std::string_view value;
  int64_t deadline_ms = kNever;
  std::optional<RevisionInfo> revision;

  int64_t written_at_ms() const { return revision ? revision->written_at_ms : 0; }
  uint64_t revision_number() const { return revision ? revision->number : 0; }
};

struct HistoryRow {
  std::string_view value;
  Ending ending = Ending::kOverwritten;
  int64_t ended_at_ms = 0;
  uint64_t ordinal = 0;
  int64_t deadline_ms = kNever;
  int64_t oldest_written_at_ms = 0;  // both 0: it does not say
  uint64_t oldest_number = 0;
};

std::string encode_row(const Row& row);
// kCorrupt, or kUnsupported, says what is wrong; `key` is for the message.
Result<Row> decode_row(std::string_view key, std::string_view bytes);

std::string encode_history_row(const HistoryRow& row);
Result<HistoryRow> decode_history_row(std::string_view key, std::string_view bytes);

// Rows of the store's own that hold one number, BE64.
std::string encode_number(uint64_t number);
// Nothing if there is no such row. kCorrupt if it is damaged.
Result<std::optional<uint64_t>> read_number(const engine::Reader& reader, std::string_view key);

// The store's time row: the latest date, BE64; and behind it what the clock said, BE64, if that is another time. Dates never
// go back, clocks may: one that was a year ahead for a minute must not be a year ahead again after each open.
struct StoredTime {
  int64_t latest_date_ms = 0;
  int64_t clock_ms = 0;
};
std::string encode_time(const StoredTime& time);
Result<std::optional<StoredTime>> read_time(const engine::Reader& reader);

// 'ab\x00c…' (1024 bytes): a key as messages show it.
std::string quoted(std::string_view key);

}  // namespace lapse::internal
