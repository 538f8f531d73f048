// RequestParser: the bytes that a client sends, taken apart into commands.
//
//   *2\r\n $3\r\nGET\r\n $3\r\nkey\r\n      an array of bulk strings (without the blanks)
//   GET "a key"\r\n                         an inline command, as people type it
//
// It keeps no bytes: the caller does, and shows it all that has arrived of the command at hand. What it has read once it
// does not read again, so a command that arrives byte by byte costs no more than one that arrives whole; and it reserves
// memory for what was received, never for what was announced.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lapse::resp {

class RequestParser {
 public:
  struct Limits {
    size_t max_bulk_bytes = 512UL << 20;
    size_t max_arguments = 1UL << 20;
    size_t max_inline_bytes = 64UL << 10;
    bool unauthenticated = false;  // the errors then say that the limits are a stranger's
  };

  enum class Outcome {
    kCommand,   // arguments() has it; it took consumed() bytes
    kNeedMore,  // call again with the same bytes and more
    kError,     // error() says what is wrong; the connection cannot go on
  };

  // `bytes` begins at the first byte that was not consumed.
  Outcome next(std::string_view bytes, const Limits& limits);

  // Of the command found last; they point into the bytes given then (of an inline command: into the parser). An empty
  // command (a blank line, an array of none) has none of them.
  std::span<const std::string_view> arguments() const { return arguments_; }
  size_t consumed() const { return position_; }
  // "Protocol error: …"
  const std::string& error() const { return error_; }
  // Gives back what a large command has left. Between commands: arguments() are void after it.
  void release();

 private:
  struct Piece {
    size_t offset;
    size_t bytes;
  };

  void begin_command();
  std::optional<std::string_view> line_at(std::string_view bytes, size_t begin);
  Outcome inline_command(std::string_view bytes, const Limits& limits);
  Outcome array_length(std::string_view bytes, const Limits& limits);
  Outcome bulk_strings(std::string_view bytes, const Limits& limits);
  Outcome bulk_length(std::string_view bytes, const Limits& limits);
  bool split_inline(std::string_view line);
  Outcome fail(std::string what);

  enum class Stage { kStart, kBulks, kDone };
  Stage stage_ = Stage::kStart;
  size_t position_ = 0;  // up to here the command has been read
  int64_t bulks_left_ = 0;
  int64_t bulk_bytes_ = -1;  // of the bulk string at hand; -1: its length is still to come
  size_t searched_ = 0;      // up to here there is no end of the line at hand
  std::vector<Piece> pieces_;
  std::vector<std::string_view> arguments_;
  std::vector<std::string> inline_arguments_;
  std::string error_;
};

}  // namespace lapse::resp
