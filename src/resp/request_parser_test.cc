#include "resp/request_parser.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lapse::resp {
namespace {

using Outcome = RequestParser::Outcome;
using std::string_view_literals::operator""sv;
using Words = std::vector<std::string>;

// What a stream of bytes comes to: its commands, and the error that ended it, if one did.
struct Parsed {
  std::vector<Words> commands;
  std::string error;
  bool operator==(const Parsed&) const = default;
};

// Shows the parser the stream in steps of `step` bytes, as a connection would.
Parsed parse(std::string_view stream, size_t step, const RequestParser::Limits& limits = {}) {
  Parsed parsed;
  RequestParser parser;
  size_t done = 0;
  for (size_t arrived = 0; arrived < stream.size();) {
    arrived = std::min(arrived + step, stream.size());
    while (done < arrived) {
      const Outcome outcome = parser.next(stream.substr(done, arrived - done), limits);
      if (outcome == Outcome::kNeedMore) break;
      if (outcome == Outcome::kError) {
        parsed.error = parser.error();
        return parsed;
      }
      parsed.commands.emplace_back(parser.arguments().begin(), parser.arguments().end());
      done += parser.consumed();
    }
  }
  return parsed;
}

// However it arrives, it comes to the same.
Parsed parse(std::string_view stream, const RequestParser::Limits& limits = {}) {
  Parsed whole = parse(stream, stream.size(), limits);
  EXPECT_EQ(whole, parse(stream, 1, limits));
  EXPECT_EQ(whole, parse(stream, 3, limits));
  return whole;
}

std::vector<Words> commands(std::string_view stream) {
  const Parsed parsed = parse(stream);
  EXPECT_EQ("", parsed.error);
  return parsed.commands;
}

std::string error(std::string_view stream, const RequestParser::Limits& limits = {}) {
  return parse(stream, limits).error;
}

std::vector<Words> one(Words words) { return {std::move(words)}; }

TEST(RequestParser, ArraysOfBulkStringsAreCommands) {
  EXPECT_EQ(one({"GET", "key"}), commands("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"));
  EXPECT_EQ(one({"SET", "", std::string("\r\n\0*", 4)}),
            commands("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\n\r\n\0*\r\n"sv));
}

TEST(RequestParser, CommandsFollowEachOther) {
  EXPECT_EQ((std::vector<Words>{{"PING"}, {"ECHO", "a"}, {"PING"}}),
            commands("*1\r\n$4\r\nPING\r\nECHO a\r\n*1\r\n$4\r\nPING\r\n"));
}

TEST(RequestParser, BlankLinesAndEmptyArraysHaveNoArguments) {
  EXPECT_EQ((std::vector<Words>{{}, {}, {}, {}, {"PING"}}), commands("\r\n\n*0\r\n*-1\r\nPING\r\n"));
}

TEST(RequestParser, WhatStandsBehindABulkStringIsNotLookedAt) {
  EXPECT_EQ(one({"PING"}), commands("*1\r\n$4\r\nPINGxy"));
}

TEST(RequestParser, AHalfCommandIsNone) {
  const std::string whole = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(Parsed{}, parse(whole.substr(0, size))) << size;
  }
}

TEST(RequestParser, InlineCommandsAreSplitAtBlanks) {
  EXPECT_EQ(one({"SET", "key", "value"}), commands("  SET\tkey   value \r\n"));
  EXPECT_EQ(one({"PING"}), commands("PING\n"));
}

TEST(RequestParser, InlineQuotesAndEscapes) {
  EXPECT_EQ(one({"SET", "a key", ""}), commands("SET \"a key\" \"\"\r\n"));
  EXPECT_EQ(one({"SET", "it's", "\\n"}), commands("SET 'it\\'s' '\\n'\r\n"));
  EXPECT_EQ(one({"SET", "\n\r\t\b\a\"\\", std::string("\x00\xffz", 3)}),
            commands("SET \"\\n\\r\\t\\b\\a\\\"\\\\\" \"\\x00\\xFFz\"\r\n"));
  EXPECT_EQ(one({"xg1", "x"}), commands("\"\\xg1\" \"\\x\"\r\n"));
}

TEST(RequestParser, UnbalancedQuotesAreRefused) {
  const std::string refused = "Protocol error: unbalanced quotes in request";
  EXPECT_EQ(refused, error("SET \"key\r\n"));
  EXPECT_EQ(refused, error("SET 'key\r\n"));
  EXPECT_EQ(refused, error("SET \"key\"value\r\n"));
  EXPECT_EQ(refused, error("SET \"key\\\r\n"));
}

TEST(RequestParser, LengthsThatAreNoneAreRefused) {
  const std::string array = "Protocol error: invalid multibulk length";
  EXPECT_EQ(array, error("*x\r\n"));
  EXPECT_EQ(array, error("*\r\n"));
  EXPECT_EQ(array, error("*01\r\n"));
  EXPECT_EQ(array, error("*+1\r\n"));
  EXPECT_EQ(array, error("* 1\r\n"));
  EXPECT_EQ(array, error("*99999999999999999999\r\n"));
  EXPECT_EQ(array, error("*1048577\r\n"));
  const std::string bulk = "Protocol error: invalid bulk length";
  EXPECT_EQ(bulk, error("*1\r\n$\r\n"));
  EXPECT_EQ(bulk, error("*1\r\n$-1\r\n"));
  EXPECT_EQ(bulk, error("*1\r\n$four\r\n"));
  EXPECT_EQ(bulk, error("*1\r\n$536870913\r\n"));
  EXPECT_EQ(bulk, error("*1\r\n$9223372036854775807\r\n"));
}

TEST(RequestParser, OnlyBulkStringsAreArguments) {
  EXPECT_EQ("Protocol error: expected '$', got ':'", error("*1\r\n:5\r\n"));
  EXPECT_EQ("Protocol error: expected '$', got '*'", error("*1\r\n*1\r\n$4\r\nPING\r\n"));
}

TEST(RequestParser, LinesWithoutAnEndAreRefused) {
  const std::string kilobytes(65 << 10, '1');
  EXPECT_EQ("Protocol error: too big inline request", parse(kilobytes, 4'096).error);
  EXPECT_EQ("Protocol error: too big mbulk count string", parse("*" + kilobytes, 4'096).error);
  EXPECT_EQ("Protocol error: too big bulk count string", parse("*1\r\n$" + kilobytes, 4'096).error);
}

TEST(RequestParser, TheLongestInlineCommandIsTheSameHoweverItArrives) {
  RequestParser::Limits limits;
  limits.max_inline_bytes = 8;
  EXPECT_EQ(one({"1234567"}), parse("1234567\r\n", limits).commands);
  EXPECT_EQ(one({"12345678"}), parse("12345678\n", limits).commands);
  EXPECT_EQ("Protocol error: too big inline request", error("12345678\r\n", limits));
  EXPECT_EQ("Protocol error: too big inline request", error("123456789\n", limits));
}

TEST(RequestParser, AStrangerMaySendLittle) {
  RequestParser::Limits limits;
  limits.max_bulk_bytes = 16;
  limits.max_arguments = 2;
  limits.unauthenticated = true;
  EXPECT_EQ("", error("*2\r\n$4\r\nAUTH\r\n$16\r\n0123456789abcdef\r\n", limits));
  EXPECT_EQ("Protocol error: unauthenticated multibulk length", error("*3\r\n", limits));
  EXPECT_EQ("Protocol error: unauthenticated bulk length", error("*1\r\n$17\r\n", limits));
  EXPECT_EQ("Protocol error: invalid bulk length", error("*1\r\n$-1\r\n", limits));
}

TEST(RequestParser, ReleaseForgetsACommandThatIsDoneAndKeepsOneThatIsNot) {
  RequestParser parser;
  const std::string bytes = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";
  ASSERT_EQ(Outcome::kNeedMore, parser.next(bytes.substr(0, 15), {}));
  parser.release();
  ASSERT_EQ(Outcome::kCommand, parser.next(bytes, {}));
  EXPECT_EQ(2U, parser.arguments().size());
  parser.release();
  EXPECT_TRUE(parser.arguments().empty());
  ASSERT_EQ(Outcome::kCommand, parser.next(bytes, {}));
  EXPECT_EQ(2U, parser.arguments().size());
}

}  // namespace
}  // namespace lapse::resp
