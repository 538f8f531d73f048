#include "resp/request_parser.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lapse::resp {

namespace {

constexpr size_t kMaxLengthLine = 64UL << 10;  // of "*3" or "$12"; what is longer is no number
constexpr size_t kKeptArguments = 1'024;       // room for more is given back

// As Redis reads lengths: no plus, no blanks, no zero in front.
std::optional<int64_t> to_number(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.starts_with('0') && text.size() > 1) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Empties it, and keeps its memory only if that is little.
template <typename T>
void forget(std::vector<T>* items) {
  if (items->capacity() > kKeptArguments) {
    std::vector<T>().swap(*items);
  } else {
    items->clear();
  }
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char escaped(char c) {
  switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return c;
  }
}

// One word of an inline command, from `at` on. False if its quotes do not match.
bool take_word(std::string_view line, size_t* at, std::string* word) {
  char quote = 0;
  for (; *at < line.size(); ++*at) {
    const char c = line[*at];
    if (quote == 0) {
      if (is_space(c)) return true;
      if (c == '"' || c == '\'') {
        quote = c;
      } else {
        *word += c;
      }
    } else if (c == quote) {
      ++*at;
      return *at == line.size() || is_space(line[*at]);  // nothing may touch a closing quote
    } else if (c == '\\' && *at + 1 < line.size() && quote == '"') {
      const char next = line[++*at];
      if (next == 'x' && *at + 2 < line.size() && hex_digit(line[*at + 1]) >= 0 &&
          hex_digit(line[*at + 2]) >= 0) {
        *word += static_cast<char>(hex_digit(line[*at + 1]) * 16 + hex_digit(line[*at + 2]));
        *at += 2;
      } else {
        *word += escaped(next);
      }
    } else if (c == '\\' && quote == '\'' && *at + 1 < line.size() && line[*at + 1] == '\'') {
      *word += '\'';
      ++*at;
    } else {
      *word += c;
    }
  }
  return quote == 0;
}

}  // namespace

RequestParser::Outcome RequestParser::next(std::string_view bytes, const Limits& limits) {
  if (stage_ == Stage::kDone) begin_command();
  if (stage_ == Stage::kStart) {
    if (bytes.empty()) return Outcome::kNeedMore;
    if (bytes[0] != '*') return inline_command(bytes, limits);
    const Outcome outcome = array_length(bytes, limits);
    if (outcome != Outcome::kCommand || stage_ == Stage::kDone) return outcome;
  }
  return bulk_strings(bytes, limits);
}

void RequestParser::begin_command() {
  stage_ = Stage::kStart;
  position_ = 0;
  bulks_left_ = 0;
  bulk_bytes_ = -1;
  searched_ = 0;
  forget(&pieces_);
  forget(&arguments_);
  forget(&inline_arguments_);
}

void RequestParser::release() {
  if (stage_ == Stage::kDone) begin_command();
}

// A line that ends in \r\n, without it; nothing if the end has not come. What has been searched for it once is not
// searched again.
std::optional<std::string_view> RequestParser::line_at(std::string_view bytes, size_t begin) {
  const size_t end = bytes.find('\r', std::max(begin, searched_));
  searched_ = end == std::string_view::npos ? bytes.size() : end;
  if (end == std::string_view::npos || end + 1 >= bytes.size()) return std::nullopt;
  return bytes.substr(begin, end - begin);
}

RequestParser::Outcome RequestParser::inline_command(std::string_view bytes, const Limits& limits) {
  const size_t end = bytes.find('\n', position_);
  if (end == std::string_view::npos) {
    position_ = bytes.size();
    return bytes.size() > limits.max_inline_bytes ? fail("too big inline request") : Outcome::kNeedMore;
  }
  std::string_view line = bytes.substr(0, end);
  if (line.size() > limits.max_inline_bytes) return fail("too big inline request");
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!split_inline(line)) return fail("unbalanced quotes in request");
  position_ = end + 1;
  stage_ = Stage::kDone;
  return Outcome::kCommand;
}

bool RequestParser::split_inline(std::string_view line) {
  for (size_t at = 0;;) {
    while (at < line.size() && is_space(line[at])) ++at;
    if (at == line.size()) break;
    std::string word;
    if (!take_word(line, &at, &word)) return false;
    inline_arguments_.push_back(std::move(word));
  }
  arguments_.assign(inline_arguments_.begin(), inline_arguments_.end());
  return true;
}

RequestParser::Outcome RequestParser::array_length(std::string_view bytes, const Limits& limits) {
  const std::optional<std::string_view> line = line_at(bytes, 1);
  if (!line) return bytes.size() > kMaxLengthLine ? fail("too big mbulk count string") : Outcome::kNeedMore;
  const std::optional<int64_t> length = to_number(*line);
  if (!length || *length > static_cast<int64_t>(limits.max_arguments)) {
    return fail(length && limits.unauthenticated ? "unauthenticated multibulk length"
                                                 : "invalid multibulk length");
  }
  position_ = 1 + line->size() + 2;
  bulks_left_ = *length;
  stage_ = *length > 0 ? Stage::kBulks : Stage::kDone;
  return Outcome::kCommand;
}

RequestParser::Outcome RequestParser::bulk_strings(std::string_view bytes, const Limits& limits) {
  while (bulks_left_ > 0) {
    if (bulk_bytes_ < 0) {
      const Outcome outcome = bulk_length(bytes, limits);
      if (outcome != Outcome::kCommand) return outcome;
    }
    const auto size = static_cast<size_t>(bulk_bytes_);
    if (bytes.size() - position_ < size + 2) return Outcome::kNeedMore;
    pieces_.push_back({position_, size});
    position_ += size + 2;  // whatever stands where \r\n should, as Redis does
    bulk_bytes_ = -1;
    --bulks_left_;
  }
  for (const Piece& piece : pieces_) arguments_.push_back(bytes.substr(piece.offset, piece.bytes));
  stage_ = Stage::kDone;
  return Outcome::kCommand;
}

RequestParser::Outcome RequestParser::bulk_length(std::string_view bytes, const Limits& limits) {
  if (position_ >= bytes.size()) return Outcome::kNeedMore;
  const std::optional<std::string_view> line = line_at(bytes, position_);
  if (!line) {
    return bytes.size() - position_ > kMaxLengthLine ? fail("too big bulk count string") : Outcome::kNeedMore;
  }
  if (bytes[position_] != '$') return fail(std::string("expected '$', got '") + bytes[position_] + "'");
  const std::optional<int64_t> length = to_number(line->substr(1));
  if (!length || *length < 0 || *length > static_cast<int64_t>(limits.max_bulk_bytes)) {
    return fail(length && *length > 0 && limits.unauthenticated ? "unauthenticated bulk length"
                                                                : "invalid bulk length");
  }
  position_ += line->size() + 2;
  bulk_bytes_ = *length;
  return Outcome::kCommand;
}

RequestParser::Outcome RequestParser::fail(std::string what) {
  error_ = "Protocol error: " + std::move(what);
  return Outcome::kError;
}

}  // namespace lapse::resp
