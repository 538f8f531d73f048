#include "store/row.h"

#include <array>

#include "base/coding.h"
#include "base/try.h"
#include "store/keys.h"

namespace lapse::internal {

namespace {

constexpr uint8_t kHasDeadline = 1;
constexpr uint8_t kHasRevision = 2;
constexpr uint8_t kHasHistory = 4;

constexpr size_t kMostHeaderBytes = 64;
constexpr size_t kMostQuotedBytes = 64;

// Fills a row's bytes from the front.
class RowWriter {
 public:
  explicit RowWriter(size_t value_bytes) { bytes_.reserve(kMostHeaderBytes + value_bytes); }
  void byte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  template <typename T>
  void fixed(T value) {
    char buffer[sizeof value];
    store_le(buffer, value);
    bytes_.append(buffer, sizeof buffer);
  }
  void varint(uint64_t value) {
    char buffer[10];
    bytes_.append(buffer, static_cast<size_t>(store_varint(buffer, value) - buffer));
  }
  std::string finish(std::string_view value) { return std::move(bytes_.append(value)); }

 private:
  std::string bytes_;
};

// Takes a row's bytes off the front; once they do not suffice, every answer is 0 and ok() is false.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : rest_(bytes) {}
  uint8_t byte() { return fixed<uint8_t>(); }
  template <typename T>
  T fixed() {
    if (rest_.size() < sizeof(T)) return fail<T>();
    const T value = load_le<T>(rest_.data());
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  uint64_t varint() {
    const std::optional<uint64_t> value = take_varint(&rest_);
    return value ? *value : fail<uint64_t>();
  }
  std::string_view rest() const { return rest_; }
  bool ok() const { return ok_; }

 private:
  template <typename T>
  T fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool ok_ = true;
};

Status bad_row(std::string_view what, std::string_view key) {
  return {StatusCode::kCorrupt, std::string(what) + " of " + quoted(key) + " is cut short"};
}

Status newer_row(std::string_view what, std::string_view key) {
  return {StatusCode::kUnsupported,
          std::string(what) + " of " + quoted(key) + " has fields that this version of Lapse does not know"};
}

}  // namespace

std::string encode_row(const Row& row) {
  RowWriter out(row.value.size());
  const bool has_deadline = row.deadline_ms != kNever;
  const bool has_history = row.revision && row.revision->ordinal > 0;
  out.byte(static_cast<uint8_t>((has_deadline ? kHasDeadline : 0) | (row.revision ? kHasRevision : 0) |
                                (has_history ? kHasHistory : 0)));
  if (has_deadline) out.fixed(row.deadline_ms);
  if (row.revision) {
    out.fixed(row.revision->written_at_ms);
    out.fixed(row.revision->number);
  }
  if (has_history) {
    out.varint(row.revision->ordinal);
    out.fixed(row.revision->oldest_written_at_ms);
    out.fixed(row.revision->oldest_number);
  }
  return out.finish(row.value);
}

Result<Row> decode_row(std::string_view key, std::string_view bytes) {
  RowReader in(bytes);
  const uint8_t tag = in.byte();
  if ((tag & ~(kHasDeadline | kHasRevision | kHasHistory)) != 0) return newer_row("the row", key);
  Row row;
  if ((tag & kHasDeadline) != 0) row.deadline_ms = in.fixed<int64_t>();
  if ((tag & kHasRevision) != 0) {
    RevisionInfo& revision = row.revision.emplace();
    revision.written_at_ms = in.fixed<int64_t>();
    revision.number = in.fixed<uint64_t>();
    if ((tag & kHasHistory) != 0) {
      revision.ordinal = in.varint();
      revision.oldest_written_at_ms = in.fixed<int64_t>();
      revision.oldest_number = in.fixed<uint64_t>();
    }
  }
  if (!in.ok()) return bad_row("the row", key);
  row.value = in.rest();
  return row;
}

std::string encode_history_row(const HistoryRow& row) {
  RowWriter out(row.value.size());
  const bool has_deadline = row.deadline_ms != kNever;
  const bool has_oldest = row.oldest_written_at_ms != 0 || row.oldest_number != 0;
  out.byte(static_cast<uint8_t>((has_deadline ? kHasDeadline : 0) | (has_oldest ? kHasHistory : 0)));
  if (has_deadline) out.fixed(row.deadline_ms);
  out.byte(static_cast<uint8_t>(row.ending));
  out.fixed(row.ended_at_ms);
  out.varint(row.ordinal);
  if (has_oldest) {
    out.fixed(row.oldest_written_at_ms);
    out.fixed(row.oldest_number);
  }
  return out.finish(row.value);
}

Result<HistoryRow> decode_history_row(std::string_view key, std::string_view bytes) {
  RowReader in(bytes);
  const uint8_t tag = in.byte();
  if ((tag & ~(kHasDeadline | kHasHistory)) != 0) return newer_row("a history row", key);
  HistoryRow row;
  if ((tag & kHasDeadline) != 0) row.deadline_ms = in.fixed<int64_t>();
  const uint8_t ending = in.byte();
  if (ending > static_cast<uint8_t>(Ending::kExpired)) return newer_row("a history row", key);
  row.ending = static_cast<Ending>(ending);
  row.ended_at_ms = in.fixed<int64_t>();
  row.ordinal = in.varint();
  if ((tag & kHasHistory) != 0) {
    row.oldest_written_at_ms = in.fixed<int64_t>();
    row.oldest_number = in.fixed<uint64_t>();
  }
  if (!in.ok()) return bad_row("a history row", key);
  row.value = in.rest();
  return row;
}

std::string encode_number(uint64_t number) {
  char bytes[8];
  store_be64(bytes, number);
  return {bytes, sizeof bytes};
}

Result<std::optional<uint64_t>> read_number(const engine::Reader& reader, std::string_view key) {
  LAPSE_TRY_ASSIGN(const auto bytes, reader.get(key));
  if (!bytes) return std::optional<uint64_t>();
  if (bytes->size() != 8)
    return Status(StatusCode::kCorrupt, "the store's row " + quoted(key) + " is damaged");
  return std::optional<uint64_t>(load_be64(bytes->data()));
}

std::string encode_time(const StoredTime& time) {
  std::string bytes = encode_number(static_cast<uint64_t>(time.latest_date_ms));
  if (time.clock_ms != time.latest_date_ms) bytes += encode_number(static_cast<uint64_t>(time.clock_ms));
  return bytes;
}

Result<std::optional<StoredTime>> read_time(const engine::Reader& reader) {
  LAPSE_TRY_ASSIGN(const auto bytes, reader.get(kTimeKey));
  if (!bytes) return std::optional<StoredTime>();
  if (bytes->size() != 8 && bytes->size() != 16)
    return Status(StatusCode::kCorrupt, "the store's row " + quoted(kTimeKey) + " is damaged");
  StoredTime time;
  time.latest_date_ms = static_cast<int64_t>(load_be64(bytes->data()));
  time.clock_ms =
      bytes->size() == 8 ? time.latest_date_ms : static_cast<int64_t>(load_be64(bytes->data() + 8));
  return std::optional<StoredTime>(time);
}

std::string quoted(std::string_view key) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "'";
  for (const char c : key.substr(0, kMostQuotedBytes)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\') {
      text.push_back(c);
    } else {
      text.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    }
  }
  text.push_back('\'');
  if (key.size() > kMostQuotedBytes) text += "… (" + std::to_string(key.size()) + " bytes)";
  return text;
}

}  // namespace lapse::internal
