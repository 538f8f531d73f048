// Walking over the keys, which are in byte order.

#include <algorithm>
#include <charconv>
#include <random>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/pattern.h"
#include "server/commands/scan_head.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// Whether keys of one type are wanted that there are none of.
bool wants_other_type(std::string_view type) { return !same_word(type, "string"); }

// How many there are is written before them at the end: they are in memory once, in the reply, and that has a limit.
Status keys(Call& call) {
  LAPSE_TRY(check_pattern(call[1]));
  LAPSE_TRY_ASSIGN(const Reader* reader, call.read());
  LAPSE_TRY_ASSIGN(Iterator at, reader->iterate({.prefix = literal_prefix(call[1])}));
  const size_t begin = call.reply.position();
  size_t found = 0;
  for (; at.valid(); at.next()) {
    if (!matches_glob(call[1], at.key())) continue;
    call.reply.bulk(at.key());
    LAPSE_TRY(call.check_output());
    ++found;
  }
  LAPSE_TRY(at.status());
  call.reply.insert_array(begin, found);
  return {};
}

// ----------------------------------------------------------------------------------------------- SCAN

// SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
struct ScanOptions {
  uint64_t cursor = 0;
  std::optional<std::string> after;  // the key that the cursor stands for; none: from the beginning
  std::string_view pattern = "*";
  uint64_t count = 10;
  bool other_type = false;
};

Status find_cursor(const Call& call, ScanOptions* options) {
  const char* end = call[1].data() + call[1].size();
  const auto [at, error] = std::from_chars(call[1].data(), end, options->cursor);
  if (error != std::errc() || at != end) return refuse("ERR invalid cursor");
  if (options->cursor == 0) return {};
  options->after = call.server.scan_cursors().find(options->cursor);
  if (options->after) return {};
  return refuse("ERR invalid cursor: it was never given out, or too many have been since; begin again at 0");
}

Result<ScanOptions> parse_scan(const Call& call) {
  ScanOptions options;
  LAPSE_TRY(find_cursor(call, &options));
  for (size_t i = 2; i < call.size(); i += 2) {
    if (i + 1 == call.size()) return syntax_error();
    const std::string_view given = call[i + 1];
    if (same_word(call[i], "MATCH")) {
      LAPSE_TRY(check_pattern(given));
      options.pattern = given;
    } else if (same_word(call[i], "TYPE")) {
      options.other_type = wants_other_type(given);
    } else if (same_word(call[i], "COUNT")) {
      const std::optional<int64_t> count = to_integer(given);
      if (!count) return not_an_integer();
      if (*count < 1) return syntax_error();
      options.count = static_cast<uint64_t>(*count);
    } else {
      return syntax_error();
    }
  }
  return options;
}

// What a call has shown.
struct Shown {
  size_t keys = 0;
  std::optional<std::string> last;  // looked at; none: there is nothing behind it
};

// COUNT is how many keys are looked at, whether they match or not; and no pattern makes looking at one long (text.h): so none makes
// a call long.
Result<Shown> reply_keys(Call& call, const ScanOptions& options) {
  IterateOptions range{.prefix = literal_prefix(options.pattern)};
  if (options.after) range.from = *options.after + '\0';
  LAPSE_TRY_ASSIGN(const Reader* reader, call.read());
  LAPSE_TRY_ASSIGN(Iterator at, reader->iterate(range));
  Shown shown;
  std::string last;
  for (uint64_t seen = 0; at.valid() && seen < options.count; at.next(), ++seen) {
    last = at.key();
    if (!matches_glob(options.pattern, last)) continue;
    call.reply.bulk(last);
    LAPSE_TRY(call.check_output());
    ++shown.keys;
  }
  LAPSE_TRY(at.status());
  if (at.valid()) shown.last = std::move(last);
  return shown;
}

Status scan(Call& call) {
  LAPSE_TRY_ASSIGN(const ScanOptions options, parse_scan(call));
  const size_t begin = call.reply.position();
  Shown shown;
  if (!options.other_type) {
    LAPSE_TRY_ASSIGN(shown, reply_keys(call, options));
  }
  call.reply.insert(begin, head_of_scan(call, options.cursor, shown.last, shown.keys));
  return {};
}

// ------------------------------------------------------------------------------------------ RANDOMKEY

std::minstd_rand& dice() {
  static std::minstd_rand dice(std::random_device{}());
  return dice;
}

size_t common_bytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

int byte_at(std::string_view key, size_t at) { return static_cast<unsigned char>(key[at]); }

// Down the tree of prefixes, a throw at each fork. So every key can come up, and the cost grows with the length of keys,
// not with their number.
Result<std::optional<std::string>> random_key(const Reader& keys) {
  IterateOptions range;
  for (;;) {
    LAPSE_TRY_ASSIGN(Iterator at, keys.iterate(range));
    LAPSE_TRY(at.status());
    if (!at.valid()) return std::optional<std::string>();
    std::string first(at.key());
    at.last();
    LAPSE_TRY(at.status());
    const std::string last(at.key());
    if (first == last) return std::optional(std::move(first));

    // A key that ends at the fork counts as one more branch, before the others.
    const size_t fork = common_bytes(first, last);
    const bool ends_here = first.size() == fork;
    if (ends_here) {
      at.first();
      at.next();
      LAPSE_TRY(at.status());
    }
    const int low = ends_here ? byte_at(at.key(), fork) - 1 : byte_at(first, fork);
    const int thrown = std::uniform_int_distribution<int>(low, byte_at(last, fork))(dice());
    if (ends_here && thrown == low) return std::optional(std::move(first));
    at.seek(first.substr(0, fork) + static_cast<char>(thrown));
    LAPSE_TRY(at.status());
    range.prefix = at.key().substr(0, fork + 1);
  }
}

Status randomkey(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* reader, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> key, random_key(*reader));
  if (key) {
    call.reply.bulk(*key);
  } else {
    call.reply.null();
  }
  return {};
}

constexpr Command kCommands[] = {
    {"keys", 2, kReadOnly, {}, "generic", "1.0.0", "Returns all keys that match a pattern.", keys},
    {"randomkey", 1, kReadOnly, {}, "generic", "1.0.0", "Returns a random key.", randomkey},
    {"scan",
     -2,
     kReadOnly,
     {},
     "generic",
     "2.8.0",
     "Walks over the keys, a portion at a time: each call returns the cursor for the next.",
     scan},
};

}  // namespace

std::span<const Command> scan_commands() { return kCommands; }

}  // namespace lapse::server
