// Events: what happened to a key, for those who subscribed to such news and for those who watch the key.
//
// notify-keyspace-events says which classes are wanted (K: __keyspace@0__:key, E: __keyevent@0__:event; then g $ x e t d n
// m A, as Redis has them). A command tells of its changes by Call::changed(); they leave with the command, if it succeeds,
// and with the turn, if it commits.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lapse::server {

enum EventClass : uint32_t {
  kKeyspace = 1 << 0,  // K
  kKeyevent = 1 << 1,  // E
  kGeneric = 1 << 2,   // g: del, expire, rename, …
  kString = 1 << 3,    // $
  kExpired = 1 << 8,   // x
  kEvicted = 1 << 9,   // e
  kStream = 1 << 10,   // t
  kKeyMiss = 1 << 11,  // m
  kModule = 1 << 13,   // d
  kNew = 1 << 14,      // n
  kList = 1 << 4,      // l s h z: types that there are none of
  kSet = 1 << 5,
  kHash = 1 << 6,
  kZset = 1 << 7,
  kAllEvents =
      kGeneric | kString | kList | kSet | kHash | kZset | kExpired | kEvicted | kStream | kModule,  // A
};

// Nothing: a letter that means none.
std::optional<uint32_t> parse_event_classes(std::string_view letters);
std::string event_class_letters(uint32_t classes);

struct Event {
  uint32_t event_class;
  std::string_view name;  // "set": a literal
  int db;
  std::string key;
};

}  // namespace lapse::server
