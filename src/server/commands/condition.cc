#include "server/commands/condition.h"

#include <cinttypes>
#include <cstdio>

#include "base/checksum.h"
#include "server/text.h"

namespace lapse::server {

namespace {

constexpr size_t kDigestDigits = 16;

}  // namespace

std::string digest(std::string_view value) {
  char text[kDigestDigits + 1];
  std::snprintf(text, sizeof text, "%016" PRIx64, checksum(value, 0));
  return text;
}

struct Condition::Word {
  std::string_view word;
  Kind kind;
};

const Condition::Word Condition::kWords[] = {
    {"NX", Kind::kAbsent},     {"XX", Kind::kPresent},       {"IFEQ", Kind::kEqual},
    {"IFNE", Kind::kNotEqual}, {"IFDEQ", Kind::kSameDigest}, {"IFDNE", Kind::kOtherDigest},
};

bool Condition::take(const Call& call, size_t* i) {
  for (const Word& word : kWords) {
    if (!same_word(call[*i], word.word)) continue;
    const bool has_value = word.kind > Kind::kPresent;
    if (!always() && kind_ != word.kind) return false;
    if (has_value && *i + 1 == call.size()) return false;
    kind_ = word.kind;
    if (has_value) expected_ = call[++*i];
    return true;
  }
  return false;
}

// Redis counts the digits and does not look at them: what is no number is no value's digest.
Status Condition::check() const {
  if (kind_ != Kind::kSameDigest && kind_ != Kind::kOtherDigest) return {};
  if (expected_.size() == kDigestDigits) return {};
  return refuse("ERR must be exactly 16 hexadecimal characters");
}

bool Condition::holds(const std::optional<std::string>& value) const {
  switch (kind_) {
    case Kind::kAlways: return true;
    case Kind::kAbsent: return !value;
    case Kind::kPresent: return value.has_value();
    case Kind::kEqual: return value && *value == expected_;
    case Kind::kNotEqual: return !value || *value != expected_;
    case Kind::kSameDigest: return value && same_word(digest(*value), expected_);
    case Kind::kOtherDigest: return !value || !same_word(digest(*value), expected_);
  }
  return false;
}

}  // namespace lapse::server
