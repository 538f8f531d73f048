#include "store/keys.h"

#include <vector>

#include "base/coding.h"
#include "base/try.h"

namespace lapse::internal {

namespace {

constexpr FamilyId kLongestOneByteId = 247;

constexpr char kData = 'd';
constexpr char kHistory = 'h';
constexpr char kCount = 'n';
constexpr char kExpiry = 'x';

void append_be64(std::string* to, uint64_t number) {
  char bytes[8];
  store_be64(bytes, number);
  to->append(bytes, sizeof bytes);
}

void append_id(std::string* to, FamilyId id) {
  if (id <= kLongestOneByteId) {
    to->push_back(static_cast<char>(id));
    return;
  }
  char bytes[8];
  store_be64(bytes, id);
  size_t zeros = 0;
  while (bytes[zeros] == 0) ++zeros;
  to->push_back(static_cast<char>(kLongestOneByteId + sizeof bytes - zeros));
  to->append(bytes + zeros, sizeof bytes - zeros);
}

std::string part(FamilyId id, char kind, size_t more_bytes) {
  std::string key;
  key.reserve(10 + more_bytes);
  append_id(&key, id);
  key.push_back(kind);
  return key;
}

void append_escaped(std::string* to, std::string_view key) {
  for (size_t zero = key.find('\0'); zero != std::string_view::npos; zero = key.find('\0')) {
    to->append(key.substr(0, zero)).append("\0\xff", 2);
    key.remove_prefix(zero + 1);
  }
  to->append(key).append("\0\x01", 2);
}

}  // namespace

std::string catalog_key(std::string_view name) { return std::string(kCatalogPrefix).append(name); }

std::string garbage_key(FamilyId id) {
  std::string key(kGarbagePrefix);
  append_id(&key, id);
  return key;
}

std::optional<FamilyId> parse_garbage_key(std::string_view key) {
  if (!key.starts_with(kGarbagePrefix) || key.size() <= kGarbagePrefix.size()) return std::nullopt;
  key.remove_prefix(kGarbagePrefix.size());
  const auto first = static_cast<uint8_t>(key[0]);
  key.remove_prefix(1);
  if (first <= kLongestOneByteId) return key.empty() ? std::optional<FamilyId>(first) : std::nullopt;
  if (key.size() != first - kLongestOneByteId) return std::nullopt;
  FamilyId id = 0;
  for (const char byte : key) id = id << 8 | static_cast<uint8_t>(byte);
  return id;
}

std::string family_prefix(FamilyId id) {
  std::string key;
  append_id(&key, id);
  return key;
}

std::string data_prefix(FamilyId id) { return part(id, kData, 0); }
std::string data_key(FamilyId id, std::string_view key) { return part(id, kData, key.size()).append(key); }
void expect_rows(const engine::Reader& reader, FamilyId id, std::span<const std::string_view> keys) {
  const std::string prefix = data_prefix(id);
  size_t bytes = 0;
  for (const std::string_view key : keys) bytes += prefix.size() + key.size();
  std::string all;
  all.reserve(bytes);
  std::vector<std::string_view> rows;
  rows.reserve(keys.size());
  for (const std::string_view key : keys) {
    const char* begin = all.data() + all.size();
    all.append(prefix).append(key);
    rows.emplace_back(begin, prefix.size() + key.size());
  }
  reader.expect(rows);
}

std::string count_key(FamilyId id) { return part(id, kCount, 0); }

std::string expiry_prefix(FamilyId id) { return part(id, kExpiry, 0); }

std::string expiry_from(FamilyId id, int64_t deadline_ms) { return expiry_key(id, deadline_ms, {}); }

std::string expiry_key(FamilyId id, int64_t deadline_ms, std::string_view key) {
  std::string expiry = part(id, kExpiry, 8 + key.size());
  append_be64(&expiry, static_cast<uint64_t>(deadline_ms));
  return expiry.append(key);
}

std::optional<ExpiryKey> parse_expiry_key(std::string_view behind_prefix) {
  if (behind_prefix.size() < 8) return std::nullopt;
  return ExpiryKey{static_cast<int64_t>(load_be64(behind_prefix.data())), behind_prefix.substr(8)};
}

std::string history_prefix(FamilyId id) { return part(id, kHistory, 0); }

std::string history_key_prefix(FamilyId id, std::string_view key) {
  std::string prefix = part(id, kHistory, key.size() + 2 + 16);
  append_escaped(&prefix, key);
  return prefix;
}

std::string history_key(FamilyId id, std::string_view key, int64_t written_at_ms, uint64_t revision) {
  std::string history = history_key_prefix(id, key);
  append_be64(&history, static_cast<uint64_t>(written_at_ms));
  append_be64(&history, revision);
  return history;
}

std::optional<HistoryKey> parse_history_key(std::string_view behind_prefix) {
  HistoryKey parsed;
  for (;;) {
    const size_t zero = behind_prefix.find('\0');
    if (zero == std::string_view::npos || zero + 1 == behind_prefix.size()) return std::nullopt;
    parsed.key.append(behind_prefix.substr(0, zero));
    const char mark = behind_prefix[zero + 1];
    behind_prefix.remove_prefix(zero + 2);
    if (mark == '\x01') break;
    if (mark != '\xff') return std::nullopt;
    parsed.key.push_back('\0');
  }
  if (behind_prefix.size() != 16) return std::nullopt;
  parsed.written_at_ms = static_cast<int64_t>(load_be64(behind_prefix.data()));
  parsed.revision = load_be64(behind_prefix.data() + 8);
  return parsed;
}

Status seek_last_before(engine::Cursor* cursor, std::string_view key) {
  LAPSE_TRY(cursor->seek(key));
  return cursor->valid() ? cursor->prev() : cursor->last();
}

std::optional<std::string> prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::nullopt;
  end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

}  // namespace lapse::internal
