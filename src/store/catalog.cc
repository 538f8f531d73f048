#include "store/catalog.h"

#include <chrono>

#include "base/coding.h"
#include "base/try.h"
#include "store/row.h"

namespace lapse::internal {

namespace {

using std::chrono::milliseconds;

// Never renumber.
enum Field : uint64_t {
  kId = 1,
  kIdentity = 2,
  kUsedTtl = 3,
  kCounted = 4,
  kRevisions = 5,
  kDefaultTtl = 6,
  kMaxTtl = 7,
  kRequireTtl = 8,
  kJitter = 9,
  kHistory = 10,
  kKeepLast = 11,
  kKeepFor = 12,
};

void append_field(std::string* to, Field field, uint64_t value) {
  if (value == 0) return;
  char buffer[20];
  char* end = store_varint(store_varint(buffer, field), value);
  to->append(buffer, static_cast<size_t>(end - buffer));
}

bool set_field(FamilyRecord* record, uint64_t field, uint64_t value) {
  FamilyOptions& options = record->options;
  const auto history = [&]() -> HistoryPolicy& {
    return options.history ? *options.history : options.history.emplace();
  };
  switch (field) {
    case kId: record->id = value; return true;
    case kIdentity: record->identity = value; return true;
    case kUsedTtl: record->used_ttl = value != 0; return true;
    case kCounted: options.counted = value != 0; return true;
    case kRevisions: options.revisions = value != 0; return true;
    case kDefaultTtl: options.default_ttl = milliseconds(value); return true;
    case kMaxTtl: options.max_ttl = milliseconds(value); return true;
    case kRequireTtl: options.require_ttl = value != 0; return true;
    case kJitter: options.jitter_percent = static_cast<int>(value); return true;
    case kHistory: history(); return true;
    case kKeepLast: history().keep_last = static_cast<uint32_t>(value); return true;
    case kKeepFor: history().keep_for = milliseconds(value); return true;
    default: return false;
  }
}

uint64_t ms(milliseconds duration) { return static_cast<uint64_t>(duration.count()); }

Status invalid(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }

// As a policy: not negative, and not so long that adding it to a date would go beyond the end of time.
Status check_duration(std::string_view what, milliseconds duration) {
  if (duration.count() >= 0 && duration.count() <= kNever / 2) return {};
  return invalid(std::string(what) + " is " + std::to_string(duration.count()) + " ms; it must be 0 to " +
                 std::to_string(kNever / 2));
}

}  // namespace

std::string encode_record(const FamilyRecord& record) {
  std::string bytes;
  const FamilyOptions& options = record.options;
  append_field(&bytes, kId, record.id);
  append_field(&bytes, kIdentity, record.identity);
  append_field(&bytes, kUsedTtl, record.used_ttl ? 1 : 0);
  append_field(&bytes, kCounted, options.counted ? 1 : 0);
  append_field(&bytes, kRevisions, options.revisions ? 1 : 0);
  append_field(&bytes, kDefaultTtl, ms(options.default_ttl));
  append_field(&bytes, kMaxTtl, ms(options.max_ttl));
  append_field(&bytes, kRequireTtl, options.require_ttl ? 1 : 0);
  append_field(&bytes, kJitter, static_cast<uint64_t>(options.jitter_percent));
  if (options.history) {
    append_field(&bytes, kHistory, 1);
    append_field(&bytes, kKeepLast, options.history->keep_last);
    append_field(&bytes, kKeepFor, ms(options.history->keep_for));
  }
  return bytes;
}

Result<FamilyRecord> decode_record(std::string_view name, std::string_view bytes) {
  FamilyRecord record;
  while (!bytes.empty()) {
    const std::optional<uint64_t> field = take_varint(&bytes);
    const std::optional<uint64_t> value = take_varint(&bytes);
    if (!field || !value)
      return Status(StatusCode::kCorrupt, "the catalog row of family " + quoted(name) + " is cut short");
    if (!set_field(&record, *field, *value))
      return Status(StatusCode::kUnsupported, "family " + quoted(name) + " has a setting (" +
                                                  std::to_string(*field) +
                                                  ") that this version of Lapse does not know");
  }
  if (record.id == 0 || record.identity == 0)
    return Status(StatusCode::kCorrupt, "the catalog row of family " + quoted(name) + " names no place");
  return record;
}

Result<FamilyRecord> read_record(const engine::Reader& reader, std::string_view name) {
  LAPSE_TRY_ASSIGN(const auto bytes, reader.get(catalog_key(name)));
  if (!bytes) return Status(StatusCode::kNotFound, "there is no family " + quoted(name));
  return decode_record(name, *bytes);
}

Status dropped_family(std::string_view name) {
  return {StatusCode::kNotFound, "family " + quoted(name) + " has been dropped"};
}

Result<FamilyRecord> read_record_of(const engine::Reader& reader, const Family& family) {
  Result<FamilyRecord> record = read_record(reader, family.name);
  if (record.ok() ? record->identity != family.identity : record.status().code() == StatusCode::kNotFound)
    return dropped_family(family.name);
  return record;
}

Status check_family_name(std::string_view name) {
  if (name.empty()) return invalid("a family needs a name of at least one byte");
  if (name.size() > kMaxFamilyNameBytes)
    return invalid("family name of " + std::to_string(name.size()) + " bytes: the limit is " +
                   std::to_string(kMaxFamilyNameBytes));
  if (name.starts_with("__"))
    return invalid("family name " + quoted(name) + ": names that start with \"__\" are reserved");
  return {};
}

Status check_family_options(const FamilyOptions& options) {
  LAPSE_TRY(check_duration("default_ttl", options.default_ttl));
  LAPSE_TRY(check_duration("max_ttl", options.max_ttl));
  if (options.max_ttl.count() > 0 && options.default_ttl > options.max_ttl)
    return invalid("default_ttl is longer than max_ttl");
  if (options.jitter_percent < 0 || options.jitter_percent > 100)
    return invalid("jitter_percent is " + std::to_string(options.jitter_percent) + "; it must be 0 to 100");
  if (options.history) LAPSE_TRY(check_duration("history.keep_for", options.history->keep_for));
  return {};
}

}  // namespace lapse::internal
