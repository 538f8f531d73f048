// Feeds arbitrary bytes to the parser of requests, whole, byte by byte and in chunks: it must come to the same commands and
// the same error each time. The reader of replies gets the same bytes, and each command as it would be sent again.

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "resp/reply.h"
#include "resp/request_parser.h"

namespace {

using lapse::resp::RequestParser;
using Outcome = RequestParser::Outcome;

struct Parsed {
  std::vector<std::vector<std::string>> commands;
  std::string error;
  size_t consumed = 0;
  bool operator==(const Parsed&) const = default;
};

void require(bool holds) {
  if (!holds) std::abort();
}

// `next_step()` says how many bytes arrive next.
template <typename NextStep>
Parsed parse(std::string_view stream, const RequestParser::Limits& limits, NextStep next_step) {
  Parsed parsed;
  RequestParser parser;
  for (size_t arrived = 0; arrived < stream.size();) {
    arrived += std::min(next_step(), stream.size() - arrived);
    // A copy of just these bytes, so that a read beyond them is noticed; and they need not stay where they were.
    while (parsed.consumed < arrived) {
      const std::string bytes(stream.substr(parsed.consumed, arrived - parsed.consumed));
      const Outcome outcome = parser.next(bytes, limits);
      if (outcome == Outcome::kNeedMore) break;
      if (outcome == Outcome::kError) {
        parsed.error = parser.error();
        return parsed;
      }
      require(parser.consumed() > 0 && parser.consumed() <= bytes.size());
      parsed.commands.emplace_back(parser.arguments().begin(), parser.arguments().end());
      parsed.consumed += parser.consumed();
      parser.release();
    }
  }
  return parsed;
}

void read_back(const std::vector<std::string>& command) {
  const auto read = lapse::resp::read_reply(lapse::resp::to_request(command));
  require(read.ok() && read->has_value());
  const std::vector<lapse::resp::Reply>& elements = (*read)->reply.elements;
  require(elements.size() == command.size());
  for (size_t i = 0; i < command.size(); ++i) require(elements[i].text == command[i]);
}

// Up to the byte where it is whole, or wrong, it must want more; from there on nothing changes.
void read_as_reply(std::string_view bytes) {
  const auto whole = lapse::resp::read_reply(bytes);
  if (whole.ok() && *whole) {
    (void)lapse::resp::describe((*whole)->reply);
    const auto exact = lapse::resp::read_reply(bytes.substr(0, (*whole)->consumed));
    require(exact.ok() && *exact && (*exact)->reply == (*whole)->reply);
    const auto cut = lapse::resp::read_reply(bytes.substr(0, (*whole)->consumed - 1));
    require(cut.ok() && !*cut);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  RequestParser::Limits limits;
  if (data[0] & 1) limits = {.max_bulk_bytes = 64, .max_arguments = 4, .max_inline_bytes = 64};
  limits.unauthenticated = (data[0] & 2) != 0;
  std::minstd_rand random(data[1]);
  const std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);

  const Parsed whole = parse(stream, limits, [&] { return stream.size(); });
  require(whole == parse(stream, limits, [] { return size_t{1}; }));
  require(whole == parse(stream, limits, [&] { return static_cast<size_t>(random() % 16) + 1; }));
  for (const std::vector<std::string>& command : whole.commands) read_back(command);
  read_as_reply(stream);
  return 0;
}
