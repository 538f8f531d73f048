#include "server/dump_payload.h"

#include <cstdint>
#include <optional>

#include "base/try.h"
#include "lapse/options.h"
#include "server/crc64.h"
#include "server/lzf.h"
#include "server/refusal.h"
#include "server/text.h"

namespace lapse::server {

namespace {

constexpr char kString = 0;
constexpr char kLastType = 26;  // of what a dump may hold; what is beyond is no type at all
constexpr size_t kFooterBytes = 10;
constexpr uint64_t kWrittenVersion = 6;  // the oldest with this form: every Redis since 2.6 reads it
constexpr uint64_t kNewestVersion = 80;  // Valkey 9's; strings have been the same in all of them
constexpr size_t kLongestInteger = 11;   // "-2147483648"

enum Encoding : uint8_t { kInt8 = 0, kInt16 = 1, kInt32 = 2, kLzf = 3 };
constexpr uint8_t k14Bits = 0x40;
constexpr uint8_t k32Bits = 0x80;
constexpr uint8_t k64Bits = 0x81;
constexpr uint8_t kEncoded = 0xc0;

// -------------------------------------------------------------------------------------------- writing

void append_little_endian(std::string* out, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(number >> 8 * i));
}

void append_big_endian(std::string* out, uint64_t number, size_t bytes) {
  for (size_t i = bytes; i-- > 0;) out->push_back(static_cast<char>(number >> 8 * i));
}

void append_length(std::string* out, uint64_t length) {
  if (length < 1 << 6) {
    out->push_back(static_cast<char>(length));
  } else if (length < 1 << 14) {
    append_big_endian(out, length | k14Bits << 8, 2);
  } else if (length <= UINT32_MAX) {
    out->push_back(static_cast<char>(k32Bits));
    append_big_endian(out, length, 4);
  } else {
    out->push_back(static_cast<char>(k64Bits));
    append_big_endian(out, length, 8);
  }
}

void append_integer(std::string* out, int64_t number) {
  Encoding encoding = kInt32;
  if (number == static_cast<int16_t>(number)) encoding = kInt16;
  if (number == static_cast<int8_t>(number)) encoding = kInt8;
  out->push_back(static_cast<char>(kEncoded | encoding));
  append_little_endian(out, static_cast<uint64_t>(number), size_t{1} << encoding);
}

void append_string(std::string* out, std::string_view value) {
  const std::optional<int64_t> number =
      value.size() <= kLongestInteger ? to_integer(value) : std::optional<int64_t>();
  if (number && *number == static_cast<int32_t>(*number)) {
    append_integer(out, *number);
  } else {
    append_length(out, value.size());
    out->append(value);
  }
}

// -------------------------------------------------------------------------------------------- reading

uint64_t little_endian(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

uint64_t big_endian(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

Status bad_format() { return refuse("ERR Bad data format"); }

class StringReader {
 public:
  explicit StringReader(std::string_view bytes) : bytes_(bytes) {}

  Result<std::string> read() {
    LAPSE_TRY_ASSIGN(const std::string_view head, take(1));
    const auto first = static_cast<uint8_t>(head[0]);
    if (first == (kEncoded | kLzf)) return read_compressed();
    if ((first & kEncoded) == kEncoded) return read_integer(first);
    LAPSE_TRY_ASSIGN(const uint64_t length, length_after(first));
    LAPSE_TRY_ASSIGN(const std::string_view value, take(length));
    return std::string(value);
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  Result<std::string_view> take(uint64_t count) {
    if (count > bytes_.size()) return bad_format();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  Result<uint64_t> length_after(uint8_t first) {
    if (first < k14Bits) return uint64_t{first};
    if (first > k64Bits) return bad_format();
    const bool short_form = first < k32Bits;
    const size_t count = short_form ? 1 : first == k32Bits ? 4 : 8;
    LAPSE_TRY_ASSIGN(const std::string_view rest, take(count));
    const uint64_t low = big_endian(rest);
    return short_form ? uint64_t{first & 0x3fU} << 8 | low : low;
  }

  Result<uint64_t> read_length() {
    LAPSE_TRY_ASSIGN(const std::string_view head, take(1));
    return length_after(static_cast<uint8_t>(head[0]));
  }

  Result<std::string> read_integer(uint8_t first) {
    const unsigned encoding = first & 0x3fU;
    if (encoding > kInt32) return bad_format();
    LAPSE_TRY_ASSIGN(const std::string_view bytes, take(uint64_t{1} << encoding));
    const uint64_t number = little_endian(bytes);
    switch (encoding) {
      case kInt8: return std::to_string(static_cast<int8_t>(number));
      case kInt16: return std::to_string(static_cast<int16_t>(number));
      default: return std::to_string(static_cast<int32_t>(number));
    }
  }

  Result<std::string> read_compressed() {
    LAPSE_TRY_ASSIGN(const uint64_t compressed_bytes, read_length());
    LAPSE_TRY_ASSIGN(const uint64_t length, read_length());
    LAPSE_TRY_ASSIGN(const std::string_view compressed, take(compressed_bytes));
    if (length > kMaxValueBytes) return bad_format();
    std::optional<std::string> value = lzf_decompress(compressed, length);
    return value ? Result<std::string>(std::move(*value)) : Result<std::string>(bad_format());
  }

  std::string_view bytes_;
};

bool is_sound(std::string_view payload) {
  if (payload.size() < kFooterBytes) return false;
  const std::string_view footer = payload.substr(payload.size() - kFooterBytes);
  return little_endian(footer.substr(0, 2)) <= kNewestVersion &&
         little_endian(footer.substr(2)) == crc64(payload.substr(0, payload.size() - 8));
}

}  // namespace

std::string to_dump_payload(std::string_view value) {
  std::string payload(1, kString);
  append_string(&payload, value);
  append_little_endian(&payload, kWrittenVersion, 2);
  append_little_endian(&payload, crc64(payload), 8);
  return payload;
}

Result<std::string> from_dump_payload(std::string_view payload) {
  if (!is_sound(payload)) return refuse("ERR DUMP payload version or checksum are wrong");
  const std::string_view body = payload.substr(0, payload.size() - kFooterBytes);
  if (!body.empty() && body[0] > kString && body[0] <= kLastType)
    return refuse(
        "ERR the payload is of a list, a hash or another type that Lapse does not have: only strings");
  if (!body.starts_with(kString)) return bad_format();
  StringReader reader(body.substr(1));
  LAPSE_TRY_ASSIGN(std::string value, reader.read());
  return reader.at_end() ? Result<std::string>(std::move(value)) : Result<std::string>(bad_format());
}

}  // namespace lapse::server
