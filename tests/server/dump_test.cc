// DUMP and RESTORE, and the format between them. redis_dump_test.py has the proof against a real Redis.

#include "server/crc64.h"
#include "server/dump_payload.h"
#include "server/lzf.h"
#include "test_server.h"

namespace lapse::server {
namespace {

using namespace std::string_literals;

std::string with_footer(std::string body, uint16_t version = 10) {
  body += static_cast<char>(version);
  body += static_cast<char>(version >> 8);
  uint64_t crc = crc64(body);
  for (int i = 0; i < 8; ++i, crc >>= 8) body += static_cast<char>(crc);
  return body;
}

std::string restored(const std::string& body) {
  const Result<std::string> value = from_dump_payload(with_footer(body));
  return value.ok() ? *value : error_text(value.status());
}

constexpr const char* kBad = "ERR Bad data format";
constexpr const char* kWrong = "ERR DUMP payload version or checksum are wrong";

TEST(DumpPayload, TheChecksumIsRediss) { EXPECT_EQ(0xe9c6d914c4b8d9caU, crc64("123456789")); }

TEST(DumpPayload, IntegersTakeAsFewBytesAsTheyNeed) {
  EXPECT_EQ(with_footer("\0\xc0\x0c"s, 6), to_dump_payload("12"));
  EXPECT_EQ(with_footer("\0\xc0\x80"s, 6), to_dump_payload("-128"));
  EXPECT_EQ(with_footer("\0\xc1\x39\x30"s, 6), to_dump_payload("12345"));
  EXPECT_EQ(with_footer("\0\xc2\x00\x00\x00\x80"s, 6), to_dump_payload("-2147483648"));
  EXPECT_EQ(with_footer("\0\x0a"s + "2147483648", 6), to_dump_payload("2147483648"));
  EXPECT_EQ(with_footer("\0\x02"s + "01", 6), to_dump_payload("01"));
}

TEST(DumpPayload, EveryValueComesBack) {
  for (const size_t length : {0UL, 1UL, 63UL, 64UL, 16'383UL, 16'384UL, 100'000UL}) {
    const std::string value(length, '\xff');
    EXPECT_EQ(value, *from_dump_payload(to_dump_payload(value))) << length;
  }
  for (const std::string value : {"0", "-1", "127", "128", "-129", "32767", "32768", "2147483647",
                                  "-2147483649", "9223372036854775807", "1.5", "+1", " 1"})
    EXPECT_EQ(value, *from_dump_payload(to_dump_payload(value)));
}

TEST(DumpPayload, LengthsHaveFourForms) {
  EXPECT_EQ("abc", restored("\0\x03"s + "abc"));
  EXPECT_EQ("abc", restored("\0\x40\x03"s + "abc"));
  EXPECT_EQ("abc", restored("\0\x80\0\0\0\x03"s + "abc"));
  EXPECT_EQ("abc", restored("\0\x81\0\0\0\0\0\0\0\x03"s + "abc"));
  EXPECT_EQ(kBad, restored("\0\x82\x03"s + "abc"));
}

TEST(DumpPayload, CompressedValuesAreRead) {
  // 'a', then 263 bytes from one byte back.
  EXPECT_EQ(std::string(264, 'a'), restored("\0\xc3\x05\x41\x08"s + "\0a\xe0\xfe\0"s));
}

TEST(DumpPayload, WhatIsNotWholeIsRefused) {
  EXPECT_EQ(kBad, restored(""));
  EXPECT_EQ(kBad, restored("\0"s));
  EXPECT_EQ(kBad, restored("\0\x04"s + "abc"));
  EXPECT_EQ(kBad, restored("\0\x02"s + "abc"));
  EXPECT_EQ(kBad, restored("\0\x81\xff\xff\xff\xff\xff\xff\xff\xff"s + "abc"));
  EXPECT_EQ(kBad, restored("\0\xc2\x01"s));
  EXPECT_EQ(kBad, restored("\0\xc4\x01"s));
  EXPECT_EQ(kBad, restored("\0\xc3\x02\x81\x7f\xff\xff\xff\xff\xff\xff\xff"s + "\0a"s));
}

TEST(DumpPayload, OtherTypesAreRefusedAsThat) {
  EXPECT_NE(std::string::npos, restored("\x01\x03"s + "abc").find("only strings"));
  EXPECT_EQ(kBad, restored("\x7f\x03"s + "abc"));
}

TEST(DumpPayload, AWrongFooterIsRefused) {
  const std::string good = to_dump_payload("value");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_EQ(kWrong, error_text(from_dump_payload(good.substr(0, length)).status())) << length;
  for (size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_EQ(kWrong, error_text(from_dump_payload(damaged).status())) << at;
  }
  EXPECT_EQ(kWrong, error_text(from_dump_payload(with_footer("\0\x01x"s, 9'999)).status()));
}

TEST(Lzf, NothingBeyondTheBoundsIsTouched) {
  EXPECT_EQ("abc", lzf_decompress("\x02"s + "abc", 3));
  EXPECT_EQ("", lzf_decompress("", 0));
  EXPECT_EQ(std::nullopt, lzf_decompress("\x02"s + "ab", 3));   // literals that are not there
  EXPECT_EQ(std::nullopt, lzf_decompress("\x02"s + "abc", 2));  // longer than promised
  EXPECT_EQ(std::nullopt, lzf_decompress("\x02"s + "abc", 4));  // shorter
  EXPECT_EQ(std::nullopt, lzf_decompress("\0a\x20\x01"s, 4));   // before the beginning
  EXPECT_EQ("aaaa", lzf_decompress("\0a\x20\0"s, 4));
  EXPECT_EQ(std::nullopt, lzf_decompress("\0a\x20"s, 4));   // half a step
  EXPECT_EQ(std::nullopt, lzf_decompress("\0a\xe0"s, 10));  // half a long one
  EXPECT_EQ(std::nullopt, lzf_decompress("\0a\xe0\0"s, 10));
  EXPECT_EQ("aaaaaaaaaa", lzf_decompress("\0a\xe0\0\0"s, 10));
}

class DumpCommands : public testing::Test {
 protected:
  using Words = std::vector<std::string>;
  std::string dump(const std::string& key) { return client_.ask({"DUMP", key}).text; }
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(DumpCommands, RestoreWritesWhatDumpReturned) {
  client_("SET key value");
  EXPECT_EQ("OK", client_(Words{"RESTORE", "copy", "0", dump("key")}));
  EXPECT_EQ("\"value\"", client_("GET copy"));
  EXPECT_EQ("(integer) -1", client_("TTL copy"));
  EXPECT_EQ("(nil)", client_("DUMP absent"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'dump' command", client_("DUMP"));
}

TEST_F(DumpCommands, RestoreGivesALifetime) {
  client_("SET key value");
  const std::string payload = dump("key");
  EXPECT_EQ("OK", client_(Words{"RESTORE", "a", "100", payload}));
  EXPECT_EQ("(integer) 100", client_("PTTL a"));
  EXPECT_EQ("OK", client_(Words{"RESTORE", "b", std::to_string(server_.now_ms() + 50), payload, "ABSTTL"}));
  EXPECT_EQ("(integer) 50", client_("PTTL b"));
  server_.advance(50);
  EXPECT_EQ("(integer) 0", client_("EXISTS b"));
}

TEST_F(DumpCommands, RestoreAfterTheDeadlineLeavesNothing) {
  client_("SET key value");
  const std::string payload = dump("key");
  const std::string now = std::to_string(server_.now_ms());
  EXPECT_EQ("OK", client_(Words{"RESTORE", "new", now, payload, "ABSTTL"}));
  EXPECT_EQ("(integer) 0", client_("EXISTS new"));
  EXPECT_EQ("OK", client_(Words{"RESTORE", "key", now, payload, "ABSTTL", "REPLACE"}));
  EXPECT_EQ("(integer) 0", client_("EXISTS key"));
}

TEST_F(DumpCommands, RestoreReplacesOnlyIfToldTo) {
  client_("SET key value");
  client_("SET other thing PX 100");
  const std::string payload = dump("key");
  EXPECT_EQ("(error) BUSYKEY Target key name already exists.",
            client_(Words{"RESTORE", "other", "0", payload}));
  EXPECT_EQ("OK", client_(Words{"RESTORE", "other", "0", payload, "REPLACE"}));
  EXPECT_EQ("\"value\"", client_("GET other"));
  EXPECT_EQ("(integer) -1", client_("TTL other"));
}

TEST_F(DumpCommands, RestoreRefusesWhatMakesNoSense) {
  client_("SET key value");
  const std::string payload = dump("key");
  const auto refusal = [&](Words options) {
    Words all = {"RESTORE", "new", "0", payload};
    all.insert(all.end(), options.begin(), options.end());
    return client_(all);
  };
  EXPECT_EQ("(error) ERR Invalid TTL value, must be >= 0", client_(Words{"RESTORE", "new", "-1", payload}));
  EXPECT_EQ("(error) ERR value is not an integer or out of range",
            client_(Words{"RESTORE", "new", "soon", payload}));
  EXPECT_EQ("(error) ERR invalid expire time in 'restore' command",
            client_(Words{"RESTORE", "new", "9223372036854775807", payload}));
  EXPECT_EQ("(error) ERR Invalid IDLETIME value, must be >= 0", refusal({"IDLETIME", "-1"}));
  EXPECT_EQ("(error) ERR Invalid FREQ value, must be >= 0 and <= 255", refusal({"FREQ", "256"}));
  EXPECT_EQ("(error) ERR syntax error", refusal({"FREQ", "1", "IDLETIME", "1"}));
  EXPECT_EQ("(error) ERR syntax error", refusal({"IDLETIME"}));
  EXPECT_EQ("(error) ERR syntax error", refusal({"GENTLY"}));
  EXPECT_EQ("(error) ERR DUMP payload version or checksum are wrong", client_("RESTORE new 0 nonsense"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'restore' command", client_("RESTORE new 0"));
  EXPECT_EQ("(integer) 0", client_("EXISTS new"));
  EXPECT_EQ("OK", refusal({"IDLETIME", "10"}));
}

}  // namespace
}  // namespace lapse::server
