#include "model_words.h"

#include <algorithm>
#include <chrono>

namespace lapse {

const std::vector<std::string>& key_pool() {
  static const std::vector<std::string> pool = {"a", "ab", "b", "", std::string("a\0", 2), "\xff"};
  return pool;
}

const std::vector<std::pair<std::string, FamilyOptions>>& family_pool() {
  static const std::vector<std::pair<std::string, FamilyOptions>> pool = [] {
    std::vector<std::pair<std::string, FamilyOptions>> families(7);
    families[0].first = "default";
    families[1].first = "past";
    families[1].second.history = HistoryPolicy{};
    families[2].first = "last three";
    families[2].second.history = HistoryPolicy{.keep_last = 3};
    families[2].second.counted = true;
    families[3].first = "two seconds";
    families[3].second.history = HistoryPolicy{.keep_last = 10, .keep_for = 2s};
    families[4].first = "counted";
    families[4].second.counted = true;
    families[5].first = "policies";
    families[5].second.revisions = true;
    families[5].second.default_ttl = 100ms;
    families[5].second.max_ttl = 2s;
    families[6].first = "last one";
    families[6].second.history = HistoryPolicy{.keep_last = 1};
    return families;
  }();
  return pool;
}

const std::string& key_of(int number) { return key_pool()[static_cast<size_t>(number) % key_pool().size()]; }
const std::string& family_of(int number) {
  return family_pool()[static_cast<size_t>(number) % family_pool().size()].first;
}

std::string value_of(int number) {
  static const std::vector<std::string> pool = {"1", "-7", "text", "", "9223372036854775800"};
  return number % 3 == 0 ? std::to_string(number) : pool[static_cast<size_t>(number) % pool.size()];
}

Lifetime lifetime_of(int number, int64_t now_ms) {
  const int size = number / 8;
  switch (number % 8) {
    case 0:
    case 1: return {};
    case 2: return std::chrono::milliseconds(1 + size);
    case 3: return std::chrono::milliseconds(1 + size * 20);
    case 4: return std::chrono::milliseconds(1 + size % 10);
    case 5: return Lifetime::until(std::max<int64_t>(1, now_ms + size - 40));
    case 6: return Lifetime::keep();
    default: return Lifetime::forever();
  }
}

FamilyOptions with_policies_of(int number, FamilyOptions options) {
  constexpr std::chrono::milliseconds kTtls[] = {0ms, 0ms, 30ms, 300ms};
  options.default_ttl = kTtls[number % 4];
  options.max_ttl = 5 * kTtls[number / 4 % 4];
  if (options.max_ttl != 0ms) options.default_ttl = std::min(options.default_ttl, options.max_ttl);
  return options;
}

std::string text(bool value) { return value ? "true" : "false"; }
std::string text(int64_t value) { return std::to_string(value); }
std::string text(uint64_t value) { return std::to_string(value); }
std::string text(const std::optional<std::string>& value) {
  return value ? "'" + abbreviate(*value) + "'" : "nothing";
}
std::string text(const Increment& value) { return text(value.value) + (value.applied ? "" : " not applied"); }
std::string text(const std::vector<uint64_t>& values) {
  std::string all;
  for (const uint64_t value : values) all += (all.empty() ? "" : " ") + text(value);
  return all;
}

std::string answer(const Status& status) {
  return status.ok() ? "ok" : std::string(status_code_name(status.code()));
}

void expect(const std::string& what, const std::string& model, const std::string& store) {
  if (model != store) throw std::runtime_error(what + ": the model says " + model + ", the store " + store);
}

std::string show(const std::string& key, const model::Row& row, bool with_revision) {
  return abbreviate(key) + "=" + abbreviate(row.value) + "@" +
         (row.deadline_ms == kNever ? "never" : text(row.deadline_ms)) +
         (with_revision ? "#" + text(row.revision) : "") + " ";
}

std::string walk(const Reader& reader, const IterateOptions& options, bool with_revision) {
  std::string all;
  Iterator iterator = must(reader.iterate(options));
  for (; iterator.valid(); iterator.next()) {
    model::Row row;
    row.value = iterator.value();
    row.deadline_ms = iterator.deadline_ms();
    row.revision = iterator.revision();
    if (!with_revision && row.revision != 0)
      throw std::runtime_error("a revision where there should be none");
    all += show(std::string(iterator.key()), row, with_revision);
  }
  must(iterator.status());
  return all;
}

bool shows_revisions(const model::Family& family) {
  return family.options.revisions || family.options.history;
}

void expect_not_too_late(const std::string& name, const model::Family& family, const Reader& reader) {
  const int64_t earliest_ms = family.earliest_deadline_ms();
  const int64_t next_ms = must(reader.next_deadline());
  expect(name + ", next_deadline", text(earliest_ms), text(next_ms <= earliest_ms ? earliest_ms : next_ms));
}

}  // namespace lapse
