#include "test_stores.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>

namespace lapse {

// ------------------------------------------------------------------------------------- configurations

StoreConfig memory_config() { return {"Memory", true, {}}; }

StoreConfig file_config() {
  StoreConfig config{"File", false, {}};
  config.options.durability = Durability::kNone;  // power cuts have tests of their own
  return config;
}

std::vector<StoreConfig> store_configs() {
  StoreConfig small = file_config();
  small.name = "FileSmall";
  small.options.buffer_bytes = 4 << 10;
  return {memory_config(), file_config(), small};
}

// ------------------------------------------------------------------------------------------- fixtures

StoreTest::StoreTest(const StoreConfig& config) : memory_(config.memory), options_(config.options) {
  options_.clock = &clock_;
}

Store& StoreTest::store() {
  if (!store_) {
    store_.emplace(must(memory_ ? Store::open_in_memory(options_) : Store::open(path(), options_)));
  }
  return *store_;
}

void StoreTest::close() {
  if (!store_) return;
  const Status closed = store_->close();
  store_.reset();
  if (closed.code() != StatusCode::kUnavailable) must(closed);  // the test may have closed it
}

void StoreTest::reopen() {
  if (memory_) return;
  close();
  store();
}

Family StoreTest::past(HistoryPolicy policy) { return family("past", {.history = policy}); }

Family StoreTest::family(std::string_view name, const FamilyOptions& options) {
  return must(store().create_family(name, options));
}

void StoreTest::put_numbered(Keyspace& keyspace, int from, int to, std::string_view value,
                             Lifetime lifetime) {
  std::vector<std::string> names;
  for (int i = from; i < to; ++i) names.push_back(numbered(i));
  std::vector<KeyValue> entries;
  for (const std::string& name : names) entries.emplace_back(name, value);
  must(keyspace.multi_put(entries, lifetime));
}

// ------------------------------------------------------------------------------------------- contents

Value get(const Reader& reader, std::string_view key) { return must(reader.get(key)); }
bool exists(const Reader& reader, std::string_view key) { return must(reader.exists(key)); }
TimeLeft ttl(const Reader& reader, std::string_view key) { return must(reader.ttl(key)); }
int64_t deadline(const Reader& reader, std::string_view key) {
  return must(reader.deadline_of(key)).value_or(-1);
}
Value get_at(const Reader& reader, std::string_view key, int64_t at_ms) {
  return must(reader.get_at(key, at_ms));
}
uint64_t count(const Reader& reader) { return must(reader.count()); }

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::string turned(const std::string& words) {
  std::istringstream in(words);
  std::vector<std::string> all{std::istream_iterator<std::string>(in), {}};
  std::reverse(all.begin(), all.end());
  return joined(all);
}

size_t how_many(const std::string& words) {
  std::istringstream in(words);
  return static_cast<size_t>(std::distance(std::istream_iterator<std::string>(in), {}));
}

std::string contents(const Reader& reader, const IterateOptions& options) {
  std::vector<std::string> entries;
  Iterator iterator = must(reader.iterate(options));
  for (; iterator.valid(); iterator.next()) {
    entries.push_back(abbreviate(iterator.key()) + "=" + abbreviate(iterator.value()));
  }
  must(iterator.status());
  return joined(entries);
}

std::string keys(const Reader& reader, const IterateOptions& options) {
  std::vector<std::string> found;
  Iterator iterator = must(reader.iterate(options));
  for (; iterator.valid(); iterator.next()) found.push_back(abbreviate(iterator.key()));
  must(iterator.status());
  return joined(found);
}

std::string reversed_contents(const Reader& reader) { return contents(reader, {.reverse = true}); }

std::string expiring(const Reader& reader, int64_t from_ms, int64_t to_ms) {
  std::vector<std::string> found;
  for (const Expiring& key : must(reader.expiring(from_ms, to_ms))) {
    found.push_back(abbreviate(key.key) + "@" + std::to_string(key.deadline_ms));
  }
  return joined(found);
}

std::string to_string(const Revision& revision) {
  static const char* const kEndings[] = {"", "overwritten", "erased", "expired"};
  const std::string end = revision.ended_at_ms == kNever ? "" : std::to_string(revision.ended_at_ms);
  return abbreviate(revision.value) + "[" + std::to_string(revision.written_at_ms) + "," + end + ")" +
         kEndings[static_cast<int>(revision.ending)];
}

std::string history(const Reader& reader, std::string_view key) {
  std::vector<std::string> revisions;
  for (const Revision& revision : must(reader.history(key))) revisions.push_back(to_string(revision));
  return joined(revisions);
}

uint64_t purge(Keyspace& keyspace, const PurgeOptions& options) {
  return must(keyspace.purge_expired(options)).removed;
}

// ----------------------------------------------------------------------------------------- visibility

bool visible(const Reader& reader, std::string_view key) {
  std::set<std::string> seen;
  std::set<std::string> missed;
  auto note = [&](bool found, const char* call) { (found ? seen : missed).insert(call); };

  note(must(reader.get(key)).has_value(), "get");
  note(must(reader.get_entry(key)).has_value(), "get_entry");
  const std::string_view asked[] = {key};
  note(must(reader.multi_get(asked)).at(0).has_value(), "multi_get");
  note(must(reader.exists(key)), "exists");
  note(must(reader.ttl(key)).has_value(), "ttl");
  note(must(reader.deadline_of(key)).has_value(), "deadline_of");

  Iterator forward = must(reader.iterate());
  bool met = false;
  uint64_t walked = 0;
  for (; forward.valid(); forward.next(), ++walked) met |= forward.key() == key;
  must(forward.status());
  note(met, "iterate");
  EXPECT_EQ(walked, count(reader)) << "count() is not what an iterator shows";
  met = false;
  for (Iterator back = must(reader.iterate({.reverse = true})); back.valid(); back.next())
    met |= back.key() == key;
  note(met, "iterate back");
  Iterator sought = must(reader.iterate());
  sought.seek(key);
  note(sought.valid() && sought.key() == key, "seek");

  const int64_t due = must(reader.deadline_of(key)).value_or(kNever);
  const auto listed = must(reader.expiring(0, kNever));
  const bool in_list =
      std::any_of(listed.begin(), listed.end(), [&](const Expiring& e) { return e.key == key; });
  if (due != kNever || in_list) note(in_list, "expiring");

  EXPECT_TRUE(seen.empty() || missed.empty())
      << abbreviate(key) << " is seen by " << testing::PrintToString(seen) << ", but not by "
      << testing::PrintToString(missed);
  return missed.empty();
}

bool visible(const Store& store, std::string_view key) { return visible(must(store.snapshot()), key); }

bool visible(const Store& store, const Family& family, std::string_view key) {
  const Snapshot snapshot = must(store.snapshot());
  return visible(snapshot.in(family), key);
}

// --------------------------------------------------------------------------------------------- errors

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return result;
}

}  // namespace

testing::AssertionResult complains(StatusCode code, const Status& status,
                                   const std::vector<std::string>& words) {
  if (status.code() != code) return has_code(code, status);
  for (const std::string& word : words) {
    if (lower(status.message()).find(lower(word)) == std::string::npos) {
      return testing::AssertionFailure() << "\"" << status.message() << "\" does not say \"" << word << "\"";
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace lapse
