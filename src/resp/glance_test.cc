#include "resp/glance.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "resp/reply.h"
#include "resp/request_parser.h"

namespace lapse::resp {
namespace {

TEST(Glance, SeesNameAndFirstArgument) {
  const std::string command = to_request({"SET", "key", "value", "EX", "10"});
  const std::string bytes = command + to_request({"GET", "other"});
  const std::optional<Glance> seen = glance(bytes);
  ASSERT_TRUE(seen);
  EXPECT_EQ("SET", seen->name);
  EXPECT_EQ("key", seen->first_argument);
  EXPECT_EQ(command.size(), seen->bytes);
}

TEST(Glance, HasNoArgumentWhereThereIsNone) {
  const std::optional<Glance> seen = glance("*1\r\n$4\r\nPING\r\n");
  ASSERT_TRUE(seen);
  EXPECT_EQ("PING", seen->name);
  EXPECT_EQ("", seen->first_argument);
}

TEST(Glance, PassesOverWhatIsNotThereAsAWhole) {
  const std::string command = to_request({"SET", "key", "value"});
  for (size_t bytes = 0; bytes < command.size(); ++bytes)
    EXPECT_FALSE(glance(std::string_view(command).substr(0, bytes))) << bytes;
}

TEST(Glance, PassesOverWhatIsUnusual) {
  for (const char* odd :
       {"GET key\r\n", "\r\n", "*0\r\n", "*-1\r\n", "*1\r\n$-1\r\n", "*1\r\n:4\r\nPING\r\n",
        "*x\r\n$4\r\nPING\r\n", "*\r\n$4\r\nPING\r\n", "*1\r\n$4444444444444444444\r\nPING\r\n",
        "*99999999999999999999\r\n$4\r\nPING\r\n", "*1\r\n$4PING\r\n"}) {
    EXPECT_FALSE(glance(odd)) << odd;
  }
}

TEST(Glance, AgreesWithTheParserAboutWholeCommands) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> words(1 + random() % 6);
    for (std::string& word : words) {
      word.resize(random() % 40);
      for (char& byte : word) byte = static_cast<char>(random());
    }
    const std::string bytes = to_request(words) + "*1\r\n";
    RequestParser parser;
    ASSERT_EQ(RequestParser::Outcome::kCommand, parser.next(bytes, {}));
    const std::optional<Glance> seen = glance(bytes);
    ASSERT_TRUE(seen);
    EXPECT_EQ(parser.consumed(), seen->bytes);
    EXPECT_EQ(parser.arguments()[0], seen->name);
    EXPECT_EQ(words.size() > 1 ? words[1] : "", seen->first_argument);
  }
}

}  // namespace
}  // namespace lapse::resp
