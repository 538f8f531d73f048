// Strings as rows of bits: bit 0 is the highest of the first byte.

#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/index_range.h"
#include "server/commands/values.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

constexpr int64_t kByteBits = 8;

uint8_t byte_at(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

// The bit's place in its byte.
uint8_t mask_of(uint64_t bit) { return static_cast<uint8_t>(0x80 >> (bit % kByteBits)); }

bool bit_at(std::string_view bytes, uint64_t bit) {
  const uint64_t byte = bit / kByteBits;
  return byte < bytes.size() && (byte_at(bytes, byte) & mask_of(bit)) != 0;
}

Result<uint64_t> bit_offset(const Call& call, std::string_view text) {
  const std::optional<int64_t> offset = to_integer(text);
  if (!offset || *offset < 0 || *offset / kByteBits >= call.server.config().max_bulk_bytes)
    return refuse("ERR bit offset is not an integer or out of range");
  return static_cast<uint64_t>(*offset);
}

Status setbit(Call& call) {
  LAPSE_TRY_ASSIGN(const uint64_t bit, bit_offset(call, call[2]));
  if (call[3] != "0" && call[3] != "1") return refuse("ERR bit is not an integer or out of range");
  const bool on = call[3] == "1";
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(std::optional<std::string> found, keys->get(call[1]));
  std::string value = std::move(found).value_or("");
  const bool before = bit_at(value, bit);
  const bool grows = value.size() <= bit / kByteBits;
  if (grows) value.resize(bit / kByteBits + 1);
  if (grows || before != on) {
    value[bit / kByteBits] =
        static_cast<char>((byte_at(value, bit / kByteBits) & ~mask_of(bit)) | (on ? mask_of(bit) : 0));
    LAPSE_TRY(change_value(call, call[1], value, "setbit"));
  }
  call.reply.integer(before ? 1 : 0);
  return {};
}

Status getbit(Call& call) {
  LAPSE_TRY_ASSIGN(const uint64_t bit, bit_offset(call, call[2]));
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, look_up(call, call[1]));
  call.reply.integer(value && bit_at(*value, bit) ? 1 : 0);
  return {};
}

// ------------------------------------------------------------------------------------------------- ranges

// What BITCOUNT and BITPOS look at: start [end [BYTE | BIT]].
struct BitRange {
  IndexRange asked{0, -1};
  bool has_end = false;
  bool in_bits = false;

  // The bits that are meant, of so many bytes.
  IndexRange bits_within(size_t bytes) const {
    const auto length = static_cast<int64_t>(bytes);
    if (in_bits) return asked.within(length * kByteBits);
    const IndexRange range = asked.within(length);
    if (range.empty()) return range;  // its first may be far beyond, too far to count in bits
    return {range.first * kByteBits, range.last * kByteBits + kByteBits - 1};
  }
};

// From arguments[at] on.
Result<BitRange> parse_range(const Call& call, size_t at) {
  BitRange range;
  const size_t given = call.size() - at;
  if (given > 3) return syntax_error();
  const std::optional<int64_t> start = given > 0 ? to_integer(call[at]) : 0;
  if (!start) return not_an_integer();
  if (given > 2) {
    range.in_bits = same_word(call[at + 2], "BIT");
    if (!range.in_bits && !same_word(call[at + 2], "BYTE")) return syntax_error();
  }
  const std::optional<int64_t> end = given > 1 ? to_integer(call[at + 1]) : -1;
  if (!end) return not_an_integer();
  range.asked = {*start, *end};
  range.has_end = given > 1;
  return range;
}

int64_t count_ones(std::string_view bytes) {
  int64_t ones = 0;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    ones += std::popcount(word);
  }
  for (const char byte : bytes) ones += std::popcount(static_cast<uint8_t>(byte));
  return ones;
}

// Those of the bytes that the bits touch, less what lies before and behind the bits.
int64_t count_ones(std::string_view bytes, const IndexRange& bits) {
  const auto first = static_cast<size_t>(bits.first / kByteBits);
  const auto last = static_cast<size_t>(bits.last / kByteBits);
  const auto before = static_cast<uint8_t>(~(0xff >> (bits.first % kByteBits)));
  const auto behind = static_cast<uint8_t>(0x7f >> (bits.last % kByteBits));
  return count_ones(bytes.substr(first, last - first + 1)) -
         std::popcount(static_cast<uint8_t>(byte_at(bytes, first) & before)) -
         std::popcount(static_cast<uint8_t>(byte_at(bytes, last) & behind));
}

Status bitcount(Call& call) {
  if (call.size() == 3) return syntax_error();
  // BITPOS reads its end behind BYTE and BIT; this one before them.
  if (call.size() == 5 && !to_integer(call[3])) return not_an_integer();
  LAPSE_TRY_ASSIGN(const BitRange range, parse_range(call, 2));
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, look_up(call, call[1]));
  const IndexRange bits = range.bits_within(value ? value->size() : 0);
  const bool nothing = !value || bits.empty() || (range.has_end && range.asked.backwards_from_end());
  call.reply.integer(nothing ? 0 : count_ones(*value, bits));
  return {};
}

// The first bit that is `on` or not; nothing if there is none within the range.
std::optional<int64_t> find_bit(std::string_view bytes, const IndexRange& bits, bool on) {
  const uint8_t flip = on ? 0 : 0xff;  // so that it is a one that is looked for
  const auto last = static_cast<size_t>(bits.last / kByteBits);
  auto at = static_cast<size_t>(bits.first / kByteBits);
  auto wanted = static_cast<uint8_t>((byte_at(bytes, at) ^ flip) & (0xff >> (bits.first % kByteBits)));
  if (wanted == 0) {
    at = bytes.find_first_not_of(static_cast<char>(flip), at + 1);
    if (at == std::string_view::npos || at > last) return std::nullopt;
    wanted = byte_at(bytes, at) ^ flip;
  }
  const int64_t found = static_cast<int64_t>(at) * kByteBits + std::countl_zero(wanted);
  return found <= bits.last ? std::optional<int64_t>(found) : std::nullopt;
}

// A value is as if followed by zeros without end, unless the range has an end.
int64_t position_of(std::string_view value, const BitRange& range, bool on) {
  const IndexRange bits = range.bits_within(value.size());
  if (bits.empty()) return -1;
  const int64_t behind = on || range.has_end ? -1 : static_cast<int64_t>(value.size()) * kByteBits;
  return find_bit(value, bits, on).value_or(behind);
}

Status bitpos(Call& call) {
  const std::optional<int64_t> bit = to_integer(call[2]);
  if (!bit) return not_an_integer();
  if (*bit != 0 && *bit != 1) return refuse("ERR The bit argument must be 1 or 0.");
  const bool on = *bit == 1;
  LAPSE_TRY_ASSIGN(const BitRange range, parse_range(call, 3));
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, look_up(call, call[1]));
  const int64_t in_nothing = on ? -1 : 0;
  call.reply.integer(value ? position_of(*value, range, on) : in_nothing);
  return {};
}

constexpr Command kCommands[] = {
    {"setbit", 4, kWrite | kDenyOom, kOneKey, "bitmap", "2.2.0", "Sets or clears a bit of a value.", setbit},
    {"getbit", 3, kReadOnly | kFast, kOneKey, "bitmap", "2.2.0", "Returns a bit of a value.", getbit},
    {"bitcount", -2, kReadOnly, kOneKey, "bitmap", "2.6.0", "Counts the bits of a value that are set.",
     bitcount},
    {"bitpos", -3, kReadOnly, kOneKey, "bitmap", "2.8.7",
     "Finds the first bit of a value that is set, or clear.", bitpos},
};

}  // namespace

std::span<const Command> bit_commands() { return kCommands; }

}  // namespace lapse::server
