// Where everything lies in the engine's one map.
//
//   store      [0][v]                                     → format version
//              [0][t]                                     → the latest date of a commit, and the clock's time: row.h
//              [0][i]                                     → the next family id
//              [0][c][name]                               → a family: catalog.h
//              [0][g][family id]                          → empty: a range that nobody refers to any more
//   data       [family id][d][key]                        → row.h
//   history    [family id][h][key, escaped][written_at BE64][revision BE64]  → row.h
//   count      [family id][n]                             → the number of data rows, BE64
//   expiry     [family id][x][deadline BE64][key]         → empty
//
// A family id is one byte up to 247; a greater one is a byte 247 + n and then n bytes, big-endian. So ids are in
// number order, and none is the beginning of another. Id 0 is the store's own. Ids are never used again.
//
// In history the key is followed by other things, so its end must be found and must not disturb the order: 00 is
// written as 00 FF, and the end as 00 01.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "lapse/status.h"

namespace lapse::internal {

using FamilyId = uint64_t;

inline constexpr std::string_view kVersionKey{"\0v", 2};
inline constexpr std::string_view kTimeKey{"\0t", 2};
inline constexpr std::string_view kNextIdKey{"\0i", 2};
inline constexpr std::string_view kCatalogPrefix{"\0c", 2};
inline constexpr std::string_view kGarbagePrefix{"\0g", 2};

std::string catalog_key(std::string_view name);
std::string garbage_key(FamilyId id);
// The id that a garbage key names; nothing if it names none.
std::optional<FamilyId> parse_garbage_key(std::string_view key);

// Everything that belongs to a family starts with this.
std::string family_prefix(FamilyId id);

std::string data_prefix(FamilyId id);
std::string data_key(FamilyId id, std::string_view key);
std::string count_key(FamilyId id);
// engine::Reader::expect() of data rows. Of many keys, so many at a time: what comes later would push out what came first.
inline constexpr size_t kExpectedAtOnce = 32;
void expect_rows(const engine::Reader& reader, FamilyId id, std::span<const std::string_view> keys);

struct ExpiryKey {
  int64_t deadline_ms;
  std::string_view key;
};
std::string expiry_prefix(FamilyId id);
std::string expiry_key(FamilyId id, int64_t deadline_ms, std::string_view key);
// The first place at or after a deadline.
std::string expiry_from(FamilyId id, int64_t deadline_ms);
// What stands behind the prefix; nothing if it is cut short.
std::optional<ExpiryKey> parse_expiry_key(std::string_view behind_prefix);

struct HistoryKey {
  std::string key;
  int64_t written_at_ms;
  uint64_t revision;
};
std::string history_prefix(FamilyId id);
// Of all revisions of a key.
std::string history_key_prefix(FamilyId id, std::string_view key);
std::string history_key(FamilyId id, std::string_view key, int64_t written_at_ms, uint64_t revision);
std::optional<HistoryKey> parse_history_key(std::string_view behind_prefix);

// To the last entry before `key`.
Status seek_last_before(engine::Cursor* cursor, std::string_view key);

// The first key behind all that start with `prefix`; nothing if there is no end to them.
std::optional<std::string> prefix_end(std::string_view prefix);

}  // namespace lapse::internal
