#include "resp/reply.h"

#include <gtest/gtest.h>

#include "resp/request_parser.h"

namespace lapse::resp {
namespace {

using std::string_view_literals::operator""sv;

// The reply that the bytes are, as redis-cli prints it; "…" if there is more to come, or what is wrong with them.
std::string read(std::string_view bytes) {
  const auto read = read_reply(bytes);
  if (!read.ok()) return std::string(read.status().message());
  if (!*read) return "…";
  EXPECT_EQ(bytes.size(), (*read)->consumed);
  return describe((*read)->reply);
}

TEST(Reply, EachType) {
  EXPECT_EQ("OK", read("+OK\r\n"));
  EXPECT_EQ("(error) ERR no", read("-ERR no\r\n"));
  EXPECT_EQ("(integer) -5", read(":-5\r\n"));
  EXPECT_EQ("\"a\\r\\n\\\"\\x00\"", read("$5\r\na\r\n\"\0\r\n"sv));
  EXPECT_EQ("\"\"", read("$0\r\n\r\n"));
  EXPECT_EQ("(nil)", read("$-1\r\n"));
  EXPECT_EQ("(nil)", read("*-1\r\n"));
  EXPECT_EQ("(nil)", read("_\r\n"));
  EXPECT_EQ("(true)", read("#t\r\n"));
  EXPECT_EQ("(double) 1.5", read(",1.5\r\n"));
  EXPECT_EQ("text", read("=8\r\ntxt:text\r\n"));
}

TEST(Reply, Aggregates) {
  EXPECT_EQ("1) \"a\"\n2) (integer) 1", read("*2\r\n$1\r\na\r\n:1\r\n"));
  EXPECT_EQ("1# \"a\" => (integer) 1", read("%1\r\n$1\r\na\r\n:1\r\n"));
  EXPECT_EQ("1~ \"a\"", read("~1\r\n$1\r\na\r\n"));
  EXPECT_EQ("1) 1) \"a\"\n   2) \"b\"\n2) \"c\"", read("*2\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"));
  EXPECT_EQ("(empty array)", read("*0\r\n"));
  EXPECT_EQ("(empty hash)", read("%0\r\n"));
}

TEST(Reply, EveryCutOfAReplyWaitsForTheRest) {
  const std::string whole = "*3\r\n$3\r\nabc\r\n%1\r\n+k\r\n:1\r\n=5\r\ntxt:x\r\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ("…", read(whole.substr(0, size))) << size;
  }
  EXPECT_NE("…", read(whole));
}

TEST(Reply, WhatIsNoReplyIsAnErrorAndTakesNoMemory) {
  EXPECT_EQ("not a reply: it begins with 'x'", read("x\r\n"));
  EXPECT_EQ("not a reply: an empty line", read("\r\n"));
  EXPECT_EQ("not a reply: a number that is none", read(":1x\r\n"));
  EXPECT_EQ("not a reply: a boolean that is none", read("#x\r\n"));
  EXPECT_EQ("not a reply: a verbatim string without a kind", read("=1\r\nx\r\n"));
  EXPECT_EQ("…", read("*9223372036854775807\r\n"));
  EXPECT_EQ("…", read("%9223372036854775807\r\n"));
  EXPECT_EQ("…", read("$9223372036854775807\r\n"));
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += "*1\r\n";
  EXPECT_EQ("not a reply: nested too deep", read(nested));
}

TEST(Reply, ARequestReadsBackAsItWas) {
  const std::vector<std::string> words = {"SET", "a key", std::string("\0\r\n", 3), ""};
  const std::string bytes = to_request(words);
  RequestParser parser;
  ASSERT_EQ(RequestParser::Outcome::kCommand, parser.next(bytes, {}));
  EXPECT_EQ(words, std::vector<std::string>(parser.arguments().begin(), parser.arguments().end()));
}

}  // namespace
}  // namespace lapse::resp
