// ReplyWriter: replies as RESP2 or RESP3 bytes, at the end of a string.
//
// RESP3 has types that RESP2 lacks. A command says what it means; an older client gets the nearest thing that it knows:
//
//   null      $-1          map       array of twice the length      boolean   1 or 0
//   push      array        set       array                          real      bulk string

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lapse::resp {

class ReplyWriter {
 public:
  ReplyWriter(std::string* out, int protocol) : out_(out), protocol_(protocol) {}

  void ok() { out_->append("+OK\r\n"); }
  void simple(std::string_view text);
  void error(std::string_view text);  // with its code: "ERR syntax error"
  void integer(int64_t number);
  void bulk(std::string_view bytes);
  void verbatim(std::string_view text);  // plain text; bulk in RESP2
  void null();
  void null_array();  // where RESP2 says *-1
  void boolean(bool value);
  void real(double number);
  void array(size_t length);
  void map(size_t pairs);
  void set(size_t length);
  void push(size_t length);

  // For what is not known before its elements have been written: puts `head`, a reply's beginning, behind the first `at`
  // bytes of all.
  size_t position() const { return out_->size(); }
  void insert(size_t at, std::string_view head) { out_->insert(at, head); }
  void insert_array(size_t at, size_t length);

  int protocol() const { return protocol_; }

 private:
  void header(char type, int64_t number);

  std::string* out_;
  int protocol_;
};

// As Redis writes them: the shortest text that reads back to the same number; "inf", "-inf", "nan".
std::string to_text(double number);

}  // namespace lapse::resp
