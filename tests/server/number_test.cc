// Strings that are numbers.

#include "test_server.h"

namespace lapse::server {
namespace {

class NumberCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(NumberCommands, IncrCountsFromNothing) {
  EXPECT_EQ("(integer) 1", client_("INCR n"));
  EXPECT_EQ("(integer) 2", client_("INCR n"));
  EXPECT_EQ("\"2\"", client_("GET n"));
  EXPECT_EQ("(integer) -1", client_("DECR m"));
  EXPECT_EQ("(integer) 12", client_("INCRBY n 10"));
  EXPECT_EQ("(integer) 7", client_("DECRBY n 5"));
  EXPECT_EQ("(integer) 9", client_("DECRBY n -2"));
}

TEST_F(NumberCommands, TheLifetimeStays) {
  client_("SET n 1 PX 10");
  client_("SET x 1 PX 10");
  EXPECT_EQ("(integer) 2", client_("INCR n"));
  EXPECT_EQ("\"1.5\"", client_("INCRBYFLOAT x 0.5"));
  server_.advance(9);
  EXPECT_EQ("(integer) 3", client_("INCR n"));
  EXPECT_EQ("\"2\"", client_("INCRBYFLOAT x 0.5"));
  server_.advance(1);
  EXPECT_EQ("(integer) 1", client_("INCR n")) << "the old count has ended";
  EXPECT_EQ("\"0.5\"", client_("INCRBYFLOAT x 0.5"));
}

TEST_F(NumberCommands, OnlyWhatIsWrittenAsAnIntegerIsOne) {
  const std::string refusal = "(error) ERR value is not an integer or out of range";
  for (const char* text : {"", " 1", "1 ", "+1", "01", "-0", "1.0", "abc", "9223372036854775808"}) {
    client_({"SET", "n", text});
    for (const char* command : {"INCR", "DECR"})
      EXPECT_EQ(refusal, client_(std::string(command) + " n")) << text;
    for (const char* command : {"INCRBY", "DECRBY"}) {
      EXPECT_EQ(refusal, client_({command, "n", "1"})) << text;
      EXPECT_EQ(refusal, client_({command, "absent", text})) << text;
    }
  }
  EXPECT_EQ("(nil)", client_("GET absent"));
}

TEST_F(NumberCommands, NothingWrapsAround) {
  const std::string refusal = "(error) ERR increment or decrement would overflow";
  client_("SET n 9223372036854775807");
  EXPECT_EQ(refusal, client_("INCR n"));
  EXPECT_EQ(refusal, client_("INCRBY n 1"));
  EXPECT_EQ(refusal, client_("DECRBY n -1"));
  client_("SET n -9223372036854775808");
  EXPECT_EQ(refusal, client_("DECR n"));
  EXPECT_EQ("\"-9223372036854775808\"", client_("GET n"));
  EXPECT_EQ("(error) ERR decrement would overflow", client_("DECRBY n -9223372036854775808"));
  EXPECT_EQ("(integer) -1", client_("INCRBY n 9223372036854775807"));
}

TEST_F(NumberCommands, IncrbyfloatWritesWithoutExponentOrTrailingZeros) {
  EXPECT_EQ("\"10.5\"", client_("INCRBYFLOAT x 10.50"));
  EXPECT_EQ("\"10.6\"", client_("INCRBYFLOAT x 0.1"));
  EXPECT_EQ("\"5.6\"", client_("INCRBYFLOAT x -5"));
  client_("SET x 5.0e3");
  EXPECT_EQ("\"5200\"", client_("INCRBYFLOAT x 2.0e2"));
  EXPECT_EQ("\"0\"", client_("INCRBYFLOAT x -5200"));
  EXPECT_EQ("\"0\"", client_("INCRBYFLOAT y -0"));
  EXPECT_EQ("\"16\"", client_("INCRBYFLOAT y 0x10"));
  EXPECT_EQ("\"100000000000000000\"", client_("INCRBYFLOAT z 1e17"));
  EXPECT_EQ("\"0.00001\"", client_("INCRBYFLOAT w 1e-5"));
}

TEST_F(NumberCommands, IncrbyfloatRefusesWhatIsNoNumber) {
  const std::string refusal = "(error) ERR value is not a valid float";
  for (const char* text : {"", " 1", "1 ", "abc", "nan", "1,5", "1e5000", "1e-5000"}) {
    EXPECT_EQ(refusal, client_({"INCRBYFLOAT", "absent", text})) << text;
    client_({"SET", "x", text});
    EXPECT_EQ(refusal, client_("INCRBYFLOAT x 1")) << text;
  }
  EXPECT_EQ(refusal, client_({"INCRBYFLOAT", "absent", std::string("1\0", 2)}));
  EXPECT_EQ(refusal, client_({"INCRBYFLOAT", "absent", std::string(6'000, '1')}));
  EXPECT_EQ("(nil)", client_("GET absent"));
}

TEST_F(NumberCommands, IncrbyfloatRefusesTheInfinite) {
  EXPECT_EQ("(error) ERR increment would produce NaN or Infinity", client_("INCRBYFLOAT x inf"));
  client_("SET x 1e4932");
  EXPECT_EQ("(error) ERR increment would produce NaN or Infinity", client_("INCRBYFLOAT x 1e4932"));
}

TEST_F(NumberCommands, IncrbyfloatWritesNumbersOfThousandsOfDigits) {
  client_("SET x 1e4931");
  const std::string text = client_.ask({"INCRBYFLOAT", "x", "1"}).text;
  EXPECT_EQ(4'932U, text.size());
  EXPECT_EQ(text, client_.ask({"GET", "x"}).text);
  EXPECT_EQ(text, client_.ask({"INCRBYFLOAT", "x", "0"}).text);
}

TEST_F(NumberCommands, WrongNumbersOfArguments) {
  for (const char* line :
       {"INCR", "INCR a b", "DECR", "INCRBY a", "DECRBY a", "INCRBYFLOAT a", "INCRBYFLOAT a 1 2"})
    EXPECT_TRUE(client_(line).starts_with("(error) ERR wrong number of arguments for '")) << line;
}

}  // namespace
}  // namespace lapse::server
