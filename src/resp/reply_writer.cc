#include "resp/reply_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lapse::resp {

namespace {

// A line must not end early: what a client sent may be quoted in it.
void append_line(std::string* out, std::string_view text) {
  const size_t begin = out->size();
  out->append(text);
  std::replace_if(
      out->begin() + static_cast<std::ptrdiff_t>(begin), out->end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
  out->append("\r\n");
}

}  // namespace

void ReplyWriter::header(char type, int64_t number) {
  char text[24];
  text[0] = type;
  char* end = std::to_chars(text + 1, text + sizeof text, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out_->append(text, static_cast<size_t>(end - text));
}

void ReplyWriter::simple(std::string_view text) {
  *out_ += '+';
  append_line(out_, text);
}

void ReplyWriter::error(std::string_view text) {
  *out_ += '-';
  append_line(out_, text);
}

void ReplyWriter::integer(int64_t number) { header(':', number); }

void ReplyWriter::bulk(std::string_view bytes) {
  header('$', static_cast<int64_t>(bytes.size()));
  out_->append(bytes);
  out_->append("\r\n");
}

void ReplyWriter::verbatim(std::string_view text) {
  if (protocol_ < 3) return bulk(text);
  header('=', static_cast<int64_t>(text.size() + 4));
  out_->append("txt:");
  out_->append(text);
  out_->append("\r\n");
}

void ReplyWriter::null() { out_->append(protocol_ < 3 ? "$-1\r\n" : "_\r\n"); }
void ReplyWriter::null_array() { out_->append(protocol_ < 3 ? "*-1\r\n" : "_\r\n"); }

void ReplyWriter::boolean(bool value) {
  if (protocol_ < 3) return integer(value ? 1 : 0);
  out_->append(value ? "#t\r\n" : "#f\r\n");
}

void ReplyWriter::real(double number) {
  if (protocol_ < 3) return bulk(to_text(number));
  *out_ += ',';
  out_->append(to_text(number));
  out_->append("\r\n");
}

void ReplyWriter::array(size_t length) { header('*', static_cast<int64_t>(length)); }

void ReplyWriter::insert_array(size_t at, size_t length) {
  std::string head;
  ReplyWriter(&head, protocol_).array(length);
  insert(at, head);
}

void ReplyWriter::map(size_t pairs) {
  if (protocol_ < 3) return array(pairs * 2);
  header('%', static_cast<int64_t>(pairs));
}

void ReplyWriter::set(size_t length) { header(protocol_ < 3 ? '*' : '~', static_cast<int64_t>(length)); }
void ReplyWriter::push(size_t length) { header(protocol_ < 3 ? '*' : '>', static_cast<int64_t>(length)); }

std::string to_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

}  // namespace lapse::resp
