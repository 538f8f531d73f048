// Strings as rows of bits.

#include "test_server.h"

namespace lapse::server {
namespace {

class BitCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(BitCommands, SetbitAnswersTheBitBefore) {
  EXPECT_EQ("(integer) 0", client_("SETBIT key 7 1"));
  EXPECT_EQ("(integer) 1", client_("SETBIT key 7 0"));
  EXPECT_EQ("\"\\x00\"", client_("GET key"));
  EXPECT_EQ("(integer) 0", client_("SETBIT key 8 1"));
  EXPECT_EQ("\"\\x00\\x80\"", client_("GET key"));
  EXPECT_EQ("(integer) 0", client_("SETBIT other 20 0"));
  EXPECT_EQ("(integer) 3", client_("STRLEN other")) << "it grows for a zero as well";
}

TEST_F(BitCommands, SetbitKeepsTheLifetime) {
  client_("SET key a PX 10");
  client_("SETBIT key 6 1");
  server_.advance(9);
  EXPECT_EQ("\"c\"", client_("GET key"));
  server_.advance(1);
  EXPECT_EQ("(integer) 0", client_("SETBIT key 6 1"));
  EXPECT_EQ("\"\\x02\"", client_("GET key"));
}

TEST_F(BitCommands, SetbitRefusesWhatIsNoBit) {
  const std::string offset = "(error) ERR bit offset is not an integer or out of range";
  for (const char* text : {"-1", "a", "4294967296", "9223372036854775807", "1.5"}) {
    EXPECT_EQ(offset, client_({"SETBIT", "key", text, "1"})) << text;
    EXPECT_EQ(offset, client_({"GETBIT", "key", text})) << text;
  }
  for (const char* text : {"2", "-1", "a", ""})
    EXPECT_EQ("(error) ERR bit is not an integer or out of range", client_({"SETBIT", "key", "1", text}))
        << text;
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(BitCommands, GetbitBeyondTheEndIsZero) {
  client_("SET key @");
  EXPECT_EQ("(integer) 0", client_("GETBIT key 0"));
  EXPECT_EQ("(integer) 1", client_("GETBIT key 1"));
  EXPECT_EQ("(integer) 0", client_("GETBIT key 4294967295"));
  EXPECT_EQ("(integer) 0", client_("GETBIT absent 1"));
}

TEST_F(BitCommands, BitcountCountsOnes) {
  client_("SET key foobar");
  EXPECT_EQ("(integer) 26", client_("BITCOUNT key"));
  EXPECT_EQ("(integer) 4", client_("BITCOUNT key 0 0"));
  EXPECT_EQ("(integer) 6", client_("BITCOUNT key 1 1 BYTE"));
  EXPECT_EQ("(integer) 7", client_("BITCOUNT key -2 -1"));
  EXPECT_EQ("(integer) 17", client_("BITCOUNT key 5 30 BIT"));
  EXPECT_EQ("(integer) 1", client_("BITCOUNT key 1 1 bit"));
  EXPECT_EQ("(integer) 0", client_("BITCOUNT key 5 3"));
  EXPECT_EQ("(integer) 0", client_("BITCOUNT key 9223372036854775807 9223372036854775807"));
  EXPECT_EQ("(integer) 0", client_("BITCOUNT absent"));
  EXPECT_EQ("(integer) 0", client_("BITCOUNT absent 0 -1 BIT"));
}

TEST_F(BitCommands, BitcountAgreesWithCountingOneByOne) {
  std::string bytes;
  for (int i = 0; i < 40; ++i) bytes += static_cast<char>(i * 37);
  client_({"SET", "key", bytes});
  for (int first = 0; first < 320; first += 7) {
    int ones = 0;
    for (int last = first; last < 320; ++last) {
      ones += (static_cast<unsigned char>(bytes[static_cast<size_t>(last / 8)]) >> (7 - last % 8)) & 1;
      EXPECT_EQ("(integer) " + std::to_string(ones),
                client_({"BITCOUNT", "key", std::to_string(first), std::to_string(last), "BIT"}));
    }
  }
}

TEST_F(BitCommands, BitcountChecksItsArgumentsFirst) {
  EXPECT_EQ("(error) ERR syntax error", client_("BITCOUNT absent 1"));
  EXPECT_EQ("(error) ERR syntax error", client_("BITCOUNT absent 1 2 WORD"));
  EXPECT_EQ("(error) ERR syntax error", client_("BITCOUNT absent 1 2 BIT 3"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("BITCOUNT absent a 1"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("BITCOUNT absent 1 a WORD"));
}

TEST_F(BitCommands, BitposFindsTheFirst) {
  client_({"SET", "key", "\xff\xf0"});
  client_({"APPEND", "key", std::string(1, '\0')});
  EXPECT_EQ("(integer) 12", client_("BITPOS key 0"));
  EXPECT_EQ("(integer) 0", client_("BITPOS key 1"));
  EXPECT_EQ("(integer) 8", client_("BITPOS key 1 1"));
  EXPECT_EQ("(integer) -1", client_("BITPOS key 1 2"));
  EXPECT_EQ("(integer) 16", client_("BITPOS key 0 -1"));
  EXPECT_EQ("(integer) -1", client_("BITPOS key 0 0 0"));
  EXPECT_EQ("(integer) 12", client_("BITPOS key 0 0 1 BYTE"));
  EXPECT_EQ("(integer) 9", client_("BITPOS key 1 9 11 BIT"));
  EXPECT_EQ("(integer) -1", client_("BITPOS key 0 9 11 BIT"));
  EXPECT_EQ("(integer) 12", client_("BITPOS key 0 9 12 BIT"));
  EXPECT_EQ("(integer) -1", client_("BITPOS key 1 5 2"));
}

TEST_F(BitCommands, BitposTakesZerosToFollowUnlessToldWhereToEnd) {
  client_({"SET", "key", "\xff\xff\xff"});
  EXPECT_EQ("(integer) 24", client_("BITPOS key 0"));
  EXPECT_EQ("(integer) 24", client_("BITPOS key 0 1"));
  EXPECT_EQ("(integer) -1", client_("BITPOS key 0 3")) << "there is nothing from there on";
  EXPECT_EQ("(integer) -1", client_("BITPOS key 0 0 -1"));
}

TEST_F(BitCommands, BitposOfNothing) {
  EXPECT_EQ("(integer) 0", client_("BITPOS absent 0"));
  EXPECT_EQ("(integer) -1", client_("BITPOS absent 1"));
  client_({"SET", "empty", ""});
  EXPECT_EQ("(integer) -1", client_("BITPOS empty 0"));
}

TEST_F(BitCommands, BitposChecksItsArgumentsFirst) {
  EXPECT_EQ("(error) ERR The bit argument must be 1 or 0.", client_("BITPOS absent 2"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("BITPOS absent a"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("BITPOS absent 1 a"));
  EXPECT_EQ("(error) ERR syntax error", client_("BITPOS absent 1 0 a WORD"));
  EXPECT_EQ("(error) ERR syntax error", client_("BITPOS absent 1 0 1 BIT 2"));
}

TEST_F(BitCommands, WrongNumbersOfArguments) {
  for (const char* line : {"SETBIT a 1", "GETBIT a", "BITCOUNT", "BITPOS a"})
    EXPECT_TRUE(client_(line).starts_with("(error) ERR wrong number of arguments for '")) << line;
}

}  // namespace
}  // namespace lapse::server
