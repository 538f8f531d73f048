#include "resp/reply_writer.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace lapse::resp {
namespace {

std::string written(int protocol, const std::function<void(ReplyWriter&)>& write) {
  std::string out;
  ReplyWriter writer(&out, protocol);
  write(writer);
  return out;
}

#define EXPECT_WRITES(resp2, resp3, call)                               \
  EXPECT_EQ(resp2, written(2, [](ReplyWriter& reply) { reply.call; })); \
  EXPECT_EQ(resp3, written(3, [](ReplyWriter& reply) { reply.call; }))

TEST(ReplyWriter, WhatBothProtocolsHave) {
  EXPECT_WRITES("+OK\r\n", "+OK\r\n", ok());
  EXPECT_WRITES("+PONG\r\n", "+PONG\r\n", simple("PONG"));
  EXPECT_WRITES("-ERR syntax error\r\n", "-ERR syntax error\r\n", error("ERR syntax error"));
  EXPECT_WRITES(":-9223372036854775808\r\n", ":-9223372036854775808\r\n",
                integer(std::numeric_limits<int64_t>::min()));
  EXPECT_WRITES("$0\r\n\r\n", "$0\r\n\r\n", bulk(""));
  EXPECT_WRITES("$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n", bulk("a\r\nb"));
  EXPECT_WRITES("*3\r\n", "*3\r\n", array(3));
}

TEST(ReplyWriter, WhatOnlyTheNewerHasIsTheNearestThingInTheOlder) {
  EXPECT_WRITES("$-1\r\n", "_\r\n", null());
  EXPECT_WRITES("*-1\r\n", "_\r\n", null_array());
  EXPECT_WRITES(":1\r\n", "#t\r\n", boolean(true));
  EXPECT_WRITES(":0\r\n", "#f\r\n", boolean(false));
  EXPECT_WRITES("$3\r\n1.5\r\n", ",1.5\r\n", real(1.5));
  EXPECT_WRITES("*4\r\n", "%2\r\n", map(2));
  EXPECT_WRITES("*2\r\n", "~2\r\n", set(2));
  EXPECT_WRITES("*2\r\n", ">2\r\n", push(2));
  EXPECT_WRITES("$4\r\ntext\r\n", "=8\r\ntxt:text\r\n", verbatim("text"));
}

TEST(ReplyWriter, ALineCannotBeBrokenFromWithin) {
  EXPECT_WRITES("-ERR a  +OK b\r\n", "-ERR a  +OK b\r\n", error("ERR a\r\n+OK\nb"));
  EXPECT_WRITES("+a b\r\n", "+a b\r\n", simple("a\rb"));
}

TEST(ReplyWriter, RealsAreTheShortestTextThatReadsBack) {
  EXPECT_EQ("0.1", to_text(0.1));
  EXPECT_EQ("3", to_text(3));
  EXPECT_EQ("inf", to_text(std::numeric_limits<double>::infinity()));
  EXPECT_EQ("-inf", to_text(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ("nan", to_text(std::numeric_limits<double>::quiet_NaN()));
}

TEST(ReplyWriter, TheLengthOfAnArrayCanFollow) {
  std::string out = "+before\r\n";
  ReplyWriter writer(&out, 2);
  const size_t at = writer.position();
  for (int i = 0; i < 10; ++i) writer.integer(i % 2);
  writer.insert_array(at, 10);
  EXPECT_TRUE(out.starts_with("+before\r\n*10\r\n:0\r\n:1\r\n")) << out;
  writer.insert(at, "*2\r\n+head\r\n");
  EXPECT_TRUE(out.starts_with("+before\r\n*2\r\n+head\r\n*10\r\n:0\r\n")) << out;
}

}  // namespace
}  // namespace lapse::resp
