// Strings: their lengths and parts, and what two have in common.

#include "test_server.h"

namespace lapse::server {
namespace {

class SubstringCommands : public testing::Test {
 protected:
  static Config with_small_values() {
    Config config = TestServer::in_memory();
    config.max_bulk_bytes = 1'000;
    return config;
  }
};

class Substrings : public SubstringCommands {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

class SmallSubstrings : public SubstringCommands {
 protected:
  TestServer server_{with_small_values()};
  TestClient client_{server_};
};

constexpr std::string_view kTooLong = "(error) ERR string exceeds maximum allowed size (proto-max-bulk-len)";

TEST_F(Substrings, AppendAddsToTheEnd) {
  EXPECT_EQ("(integer) 5", client_("APPEND key Hello"));
  EXPECT_EQ("(integer) 11", client_({"APPEND", "key", " World"}));
  EXPECT_EQ("\"Hello World\"", client_("GET key"));
  EXPECT_EQ("(integer) 0", client_({"APPEND", "empty", ""}));
  EXPECT_EQ("\"\"", client_("GET empty"));
}

TEST_F(Substrings, AppendAndSetrangeKeepTheLifetime) {
  client_("SET a 1 PX 10");
  client_("SET b 1 PX 10");
  EXPECT_EQ("(integer) 2", client_("APPEND a 2"));
  EXPECT_EQ("(integer) 2", client_("SETRANGE b 1 2"));
  server_.advance(9);
  EXPECT_EQ("1) \"12\"\n2) \"12\"", client_("MGET a b"));
  server_.advance(1);
  EXPECT_EQ("(integer) 1", client_("APPEND a 2")) << "the old value has ended";
  EXPECT_EQ("(integer) 2", client_("SETRANGE b 1 2"));
  EXPECT_EQ("\"\\x002\"", client_("GET b"));
}

TEST_F(Substrings, StrlenCountsBytes) {
  EXPECT_EQ("(integer) 0", client_("STRLEN absent"));
  client_({"SET", "key", std::string("\0\xff\xff", 3)});
  EXPECT_EQ("(integer) 3", client_("STRLEN key"));
}

TEST_F(Substrings, GetrangeCountsNegativeIndexesFromTheEnd) {
  client_({"SET", "key", "This is a string"});
  EXPECT_EQ("\"This\"", client_("GETRANGE key 0 3"));
  EXPECT_EQ("\"ing\"", client_("GETRANGE key -3 -1"));
  EXPECT_EQ("\"This is a string\"", client_("GETRANGE key 0 -1"));
  EXPECT_EQ("\"string\"", client_("GETRANGE key 10 100"));
  EXPECT_EQ("\"\"", client_("GETRANGE key 5 3"));
  EXPECT_EQ("\"\"", client_("GETRANGE key 16 20"));
  EXPECT_EQ("\"\"", client_("GETRANGE key -1 -5"));
  EXPECT_EQ("\"T\"", client_("GETRANGE key 0 -100")) << "the end is moved onto the first byte";
  EXPECT_EQ("\"\"", client_("GETRANGE key -100 -200"));
  EXPECT_EQ("\"This is a string\"", client_("GETRANGE key -9223372036854775808 9223372036854775807"));
  EXPECT_EQ("\"is\"", client_("SUBSTR key 5 6"));
}

TEST_F(Substrings, GetrangeOfNothingIsEmpty) {
  EXPECT_EQ("\"\"", client_("GETRANGE absent 0 -1"));
  EXPECT_EQ("\"\"", client_("SUBSTR absent 0 -1"));
  client_({"SET", "key", ""});
  EXPECT_EQ("\"\"", client_("GETRANGE key 0 0"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("GETRANGE absent a 1"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range",
            client_("SUBSTR absent 1 9223372036854775808"));
}

TEST_F(Substrings, SetrangeOverwritesAndPadsWithZeros) {
  client_({"SET", "key", "Hello World"});
  EXPECT_EQ("(integer) 11", client_("SETRANGE key 6 Redis"));
  EXPECT_EQ("\"Hello Redis\"", client_("GET key"));
  EXPECT_EQ("(integer) 13", client_("SETRANGE key 12 !"));
  EXPECT_EQ("\"Hello Redis\\x00!\"", client_("GET key"));
  EXPECT_EQ("(integer) 7", client_("SETRANGE new 5 xy"));
  EXPECT_EQ("\"\\x00\\x00\\x00\\x00\\x00xy\"", client_("GET new"));
}

TEST_F(Substrings, SetrangeOfNothingChangesNothing) {
  EXPECT_EQ("(integer) 0", client_({"SETRANGE", "absent", "10", ""}));
  EXPECT_EQ("(nil)", client_("GET absent"));
  client_("SET key abc");
  EXPECT_EQ("(integer) 3", client_({"SETRANGE", "key", "10", ""}));
  EXPECT_EQ("\"abc\"", client_("GET key"));
}

TEST_F(Substrings, SetrangeRefusesOffsetsThatAreNone) {
  EXPECT_EQ("(error) ERR offset is out of range", client_("SETRANGE key -1 x"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("SETRANGE key a x"));
  EXPECT_EQ(kTooLong, client_("SETRANGE key 536870912 x"));
  EXPECT_EQ(kTooLong, client_("SETRANGE key 9223372036854775807 x"));
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(SmallSubstrings, NoValueGrowsBeyondTheLimit) {
  EXPECT_EQ("(integer) 1000", client_({"APPEND", "key", std::string(1'000, 'x')}));
  EXPECT_EQ(kTooLong, client_("APPEND key y"));
  EXPECT_EQ("(integer) 1000", client_("STRLEN key")) << "the refused part has not been added";
  EXPECT_EQ("(integer) 1000", client_("SETRANGE key 999 y"));
  EXPECT_EQ(kTooLong, client_("SETRANGE key 1000 y"));
  EXPECT_EQ("(integer) 1", client_("SETBIT key 7999 0"));
  EXPECT_EQ("(error) ERR bit offset is not an integer or out of range", client_("SETBIT key 8000 1"));
}

// -------------------------------------------------------------------------------------------------------- LCS

TEST_F(Substrings, LcsFindsTheLongestCommonSubsequence) {
  client_("MSET a ohmytext b mynewtext");
  EXPECT_EQ("\"mytext\"", client_("LCS a b"));
  EXPECT_EQ("(integer) 6", client_("LCS a b LEN"));
  EXPECT_EQ("\"\"", client_("LCS a absent"));
  EXPECT_EQ("(integer) 0", client_("LCS absent other LEN"));
}

TEST_F(Substrings, LcsIdxTellsWhereFromTheEnd) {
  client_("MSET a ohmytext b mynewtext");
  EXPECT_EQ(
      "1) \"matches\"\n"
      "2) 1) 1) 1) (integer) 4\n"
      "         2) (integer) 7\n"
      "      2) 1) (integer) 5\n"
      "         2) (integer) 8\n"
      "   2) 1) 1) (integer) 2\n"
      "         2) (integer) 3\n"
      "      2) 1) (integer) 0\n"
      "         2) (integer) 1\n"
      "3) \"len\"\n"
      "4) (integer) 6",
      client_("LCS a b IDX"));
  EXPECT_EQ(
      "1) \"matches\"\n"
      "2) 1) 1) 1) (integer) 4\n"
      "         2) (integer) 7\n"
      "      2) 1) (integer) 5\n"
      "         2) (integer) 8\n"
      "      3) (integer) 4\n"
      "3) \"len\"\n"
      "4) (integer) 6",
      client_("LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN"));
}

TEST_F(Substrings, LcsIdxIsAMapInResp3) {
  client_("HELLO 3");
  const resp::Reply reply = client_.ask({"LCS", "a", "b", "IDX"});
  EXPECT_EQ(resp::Reply::Type::kMap, reply.type);
  ASSERT_EQ(4U, reply.elements.size());
  EXPECT_EQ("matches", reply.elements[0].text);
  EXPECT_EQ("len", reply.elements[2].text);
}

TEST_F(Substrings, LcsRefusesWordsThatClash) {
  EXPECT_EQ("(error) ERR If you want both the length and indexes, please just use IDX.",
            client_("LCS a b LEN IDX"));
  EXPECT_EQ("(error) ERR syntax error", client_("LCS a b MINMATCHLEN"));
  EXPECT_EQ("(error) ERR syntax error", client_("LCS a b WORD"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("LCS a b IDX MINMATCHLEN x"));
}

TEST_F(SmallSubstrings, LcsRefusesMoreWorkThanTheLimit) {
  client_({"MSET", "a", std::string(15, 'x'), "b", std::string(15, 'y'), "c", std::string(14, 'z')});
  EXPECT_EQ("(error) ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
            client_("LCS a b LEN"));
  EXPECT_EQ("(integer) 0", client_("LCS a c LEN"));
}

TEST_F(Substrings, WrongNumbersOfArguments) {
  for (const char* line : {"APPEND a", "STRLEN", "GETRANGE a 1", "SUBSTR a 1", "SETRANGE a 1", "LCS a"})
    EXPECT_TRUE(client_(line).starts_with("(error) ERR wrong number of arguments for '")) << line;
}

}  // namespace
}  // namespace lapse::server
