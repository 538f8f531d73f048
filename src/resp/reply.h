// Reply: what a server answers, read from its bytes. For whoever is a client: the shell, the tools, the tests.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapse/status.h"

namespace lapse::resp {

struct Reply {
  enum class Type {
    kSimple,
    kError,
    kInteger,
    kBulk,
    kNull,
    kArray,
    kMap,
    kSet,
    kPush,
    kReal,
    kBoolean,
    kVerbatim
  };
  Type type = Type::kNull;
  std::string text;             // of kSimple, kError, kBulk, kReal, kVerbatim (without its "txt:")
  int64_t integer = 0;          // of kInteger and kBoolean
  std::vector<Reply> elements;  // of kArray, kMap (key, value, key, …), kSet, kPush

  bool operator==(const Reply&) const = default;
};

// The reply that `bytes` begin with, and how many of them it took. Nothing: there is more to come.
// kInvalidArgument: this is no reply.
struct ReadReply {
  Reply reply;
  size_t consumed;
};
Result<std::optional<ReadReply>> read_reply(std::string_view bytes);

// As redis-cli prints it: OK, (integer) 1, "value", (nil), 1) "a", (error) ERR …
std::string describe(const Reply& reply);

// A command as clients send it.
std::string to_request(const std::vector<std::string>& arguments);

}  // namespace lapse::resp
