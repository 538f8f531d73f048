// What the steps of the model test are made of, from the numbers of a ModelOp; and what it says about them.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model.h"
#include "test_stores.h"

namespace lapse {

const std::vector<std::string>& key_pool();
const std::vector<std::pair<std::string, FamilyOptions>>& family_pool();
const std::string& key_of(int number);
const std::string& family_of(int number);
std::string value_of(int number);
Lifetime lifetime_of(int number, int64_t now_ms);
// The same options with other policies on lifetimes.
FamilyOptions with_policies_of(int number, FamilyOptions options);

std::string text(bool value);
std::string text(int64_t value);
std::string text(uint64_t value);
std::string text(const std::optional<std::string>& value);
std::string text(const Increment& value);
std::string text(const std::vector<uint64_t>& values);

// What a call answered: the value, or the name of the error.
std::string answer(const Status& status);
template <typename T>
std::string answer(const Result<T>& result) {
  return result.ok() ? text(*result) : answer(result.status());
}

// An exception, unless both are the same.
void expect(const std::string& what, const std::string& model, const std::string& store);

std::string show(const std::string& key, const model::Row& row, bool with_revision);
template <typename Iterator>
std::string show_all(Iterator begin, Iterator end, bool with_revision) {
  std::string all;
  for (; begin != end; ++begin) all += show(begin->first, begin->second, with_revision);
  return all;
}
// Everything that an iterator shows: "key=value@deadline#revision …".
std::string walk(const Reader& reader, const IterateOptions& options, bool with_revision);
bool shows_revisions(const model::Family& family);
// Of next_deadline(), which may be too early.
void expect_not_too_late(const std::string& name, const model::Family& family, const Reader& reader);

}  // namespace lapse
