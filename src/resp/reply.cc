#include "resp/reply.h"

#include <charconv>

namespace lapse::resp {

namespace {

constexpr int kMostNesting = 32;

Status malformed(const std::string& what) { return {StatusCode::kInvalidArgument, "not a reply: " + what}; }

class ReplyReader {
 public:
  explicit ReplyReader(std::string_view bytes) : bytes_(bytes) {}

  // False: not all of it is there, or it is malformed.
  bool read(Reply* reply, int depth = 0) {
    if (depth > kMostNesting) return fail("nested too deep");
    std::string_view line;
    if (!take_line(&line)) return false;
    if (line.empty()) return fail("an empty line");
    const std::string_view rest = line.substr(1);
    switch (line[0]) {
      case '+': return text(reply, Reply::Type::kSimple, rest);
      case '-': return text(reply, Reply::Type::kError, rest);
      case ',': return text(reply, Reply::Type::kReal, rest);
      case '_': return text(reply, Reply::Type::kNull, {});
      case '#': return boolean(reply, rest);
      case ':': return integer(reply, rest);
      case '$': return bulk(reply, Reply::Type::kBulk, rest);
      case '=': return bulk(reply, Reply::Type::kVerbatim, rest);
      case '*': return elements(reply, Reply::Type::kArray, rest, 1, depth);
      case '%': return elements(reply, Reply::Type::kMap, rest, 2, depth);
      case '~': return elements(reply, Reply::Type::kSet, rest, 1, depth);
      case '>': return elements(reply, Reply::Type::kPush, rest, 1, depth);
      default: return fail(std::string("it begins with '") + line[0] + "'");
    }
  }

  size_t consumed() const { return at_; }
  const Status& status() const { return status_; }

 private:
  bool fail(const std::string& what) {
    status_ = malformed(what);
    return false;
  }

  bool take_line(std::string_view* line) {
    const size_t end = bytes_.find("\r\n", at_);
    if (end == std::string_view::npos) return false;
    *line = bytes_.substr(at_, end - at_);
    at_ = end + 2;
    return true;
  }

  bool number(std::string_view text, int64_t* value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    return (error == std::errc() && end == text.data() + text.size()) || fail("a number that is none");
  }

  static bool text(Reply* reply, Reply::Type type, std::string_view line) {
    reply->type = type;
    reply->text = line;
    return true;
  }

  bool boolean(Reply* reply, std::string_view line) {
    reply->type = Reply::Type::kBoolean;
    reply->integer = line == "t" ? 1 : 0;
    return line == "t" || line == "f" || fail("a boolean that is none");
  }

  bool integer(Reply* reply, std::string_view line) {
    reply->type = Reply::Type::kInteger;
    return number(line, &reply->integer);
  }

  bool bulk(Reply* reply, Reply::Type type, std::string_view line) {
    int64_t size = 0;
    if (!number(line, &size)) return false;
    if (size < 0) return text(reply, Reply::Type::kNull, {});
    const auto bytes = static_cast<size_t>(size);
    if (bytes_.size() - at_ < bytes + 2) return false;
    const size_t prefix = type == Reply::Type::kVerbatim ? 4 : 0;  // "txt:"
    if (bytes < prefix) return fail("a verbatim string without a kind");
    text(reply, type, bytes_.substr(at_ + prefix, bytes - prefix));
    at_ += bytes + 2;
    return true;
  }

  bool elements(Reply* reply, Reply::Type type, std::string_view line, size_t each, int depth) {
    int64_t count = 0;
    if (!number(line, &count)) return false;
    if (count < 0) return text(reply, Reply::Type::kNull, {});
    reply->type = type;
    for (size_t left = static_cast<size_t>(count) * each; left > 0; --left) {
      reply->elements.emplace_back();
      if (!read(&reply->elements.back(), depth + 1)) return false;
    }
    return true;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  Status status_;
};

std::string quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (code < 0x20 || code >= 0x7f) {
      out += {'\\', 'x', kHex[code >> 4], kHex[code & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// `indent` is what stands before each further line.
std::string describe_nested(const Reply& reply, const std::string& indent) {
  using Type = Reply::Type;
  switch (reply.type) {
    case Type::kSimple:
    case Type::kVerbatim: return reply.text;
    case Type::kError: return "(error) " + reply.text;
    case Type::kInteger: return "(integer) " + std::to_string(reply.integer);
    case Type::kBoolean: return reply.integer ? "(true)" : "(false)";
    case Type::kReal: return "(double) " + reply.text;
    case Type::kBulk: return quoted(reply.text);
    case Type::kNull: return "(nil)";
    default: break;
  }
  if (reply.elements.empty()) {
    return reply.type == Type::kMap   ? "(empty hash)"
           : reply.type == Type::kSet ? "(empty set)"
                                      : "(empty array)";
  }
  const size_t each = reply.type == Type::kMap ? 2 : 1;
  const char mark = reply.type == Type::kMap ? '#' : reply.type == Type::kSet ? '~' : ')';
  const size_t rows = reply.elements.size() / each;
  const size_t width = std::to_string(rows).size();
  std::string out;
  for (size_t row = 0; row < rows; ++row) {
    const std::string number = std::to_string(row + 1);
    const std::string label = std::string(width - number.size(), ' ') + number + mark + " ";
    const std::string deeper = indent + std::string(label.size(), ' ');
    if (row > 0) out.append("\n").append(indent);
    out.append(label).append(describe_nested(reply.elements[row * each], deeper));
    if (each == 2) out.append(" => ").append(describe_nested(reply.elements[row * 2 + 1], deeper));
  }
  return out;
}

}  // namespace

Result<std::optional<ReadReply>> read_reply(std::string_view bytes) {
  ReplyReader reader(bytes);
  Reply reply;
  if (reader.read(&reply)) return std::optional<ReadReply>({std::move(reply), reader.consumed()});
  if (!reader.status().ok()) return reader.status();
  return std::optional<ReadReply>();
}

std::string describe(const Reply& reply) { return describe_nested(reply, ""); }

std::string to_request(const std::vector<std::string>& arguments) {
  std::string out = "*" + std::to_string(arguments.size()) + "\r\n";
  for (const std::string& argument : arguments) {
    out += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  return out;
}

}  // namespace lapse::resp
