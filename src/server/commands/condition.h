// Condition: what a key must hold for a command to have its way.
//
//   NX                 nothing                 IFEQ value   exactly this     IFDEQ digest   something with this digest
//   XX                 anything                IFNE value   not this         IFDNE digest   nothing with it
//
// A digest is the XXH3 hash of the value, 16 hexadecimal digits, as the command DIGEST answers it.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lapse/status.h"
#include "server/call.h"

namespace lapse::server {

std::string digest(std::string_view value);

class Condition {
 public:
  // If arguments[*i] begins a condition that does not clash with an earlier one, takes it, and moves *i onto its end.
  bool take(const Call& call, size_t* i);
  // Refuses what can be no digest.
  Status check() const;

  bool always() const { return kind_ == Kind::kAlways; }
  // Whether it compares: NX and XX do not.
  bool compares() const { return kind_ > Kind::kPresent; }
  bool holds(const std::optional<std::string>& value) const;

 private:
  enum class Kind { kAlways, kAbsent, kPresent, kEqual, kNotEqual, kSameDigest, kOtherDigest };
  struct Word;
  static const Word kWords[];

  Kind kind_ = Kind::kAlways;
  std::string_view expected_;
};

}  // namespace lapse::server
