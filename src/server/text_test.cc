// Words, numbers and patterns.

#include "server/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/support.h"

namespace lapse::server {
namespace {

// What a pattern of letters, '?' and '*' means, said as plainly as can be.
bool plainly_matches(std::string_view pattern, std::string_view text) {
  std::vector<bool> ends = {true};  // ends[i]: the pattern so far matches the first i characters
  ends.resize(text.size() + 1);
  for (const char part : pattern) {
    std::vector<bool> next(text.size() + 1);
    for (size_t i = 0; i <= text.size(); ++i) {
      if (part == '*') {
        next[i] = ends[i] || (i > 0 && next[i - 1]);
      } else {
        next[i] = i > 0 && ends[i - 1] && (part == '?' || part == text[i - 1]);
      }
    }
    ends = std::move(next);
  }
  return ends.back();
}

TEST(Globs, KnowStarsQuestionMarksClassesAndEscapes) {
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_FALSE(matches_glob("", "a"));
  EXPECT_TRUE(matches_glob("**", ""));
  EXPECT_TRUE(matches_glob("h?llo", "hello"));
  EXPECT_FALSE(matches_glob("h?llo", "hllo"));
  EXPECT_TRUE(matches_glob("h[a-f]llo", "hello"));
  EXPECT_FALSE(matches_glob("h[^e]llo", "hello"));
  EXPECT_TRUE(matches_glob("*[^x]", "xxy"));
  EXPECT_TRUE(matches_glob("h\\*llo", "h*llo"));
  EXPECT_FALSE(matches_glob("h\\*llo", "hello"));
  EXPECT_TRUE(matches_glob("*:[0-9]:*", "user:7:name"));
  EXPECT_TRUE(matches_glob("HE*", "hello", /*any_case=*/true));
  EXPECT_TRUE(matches_glob("*[ab", "xb"));
}

// Long texts of two letters, so that the stars begin over and over.
TEST(Globs, OfAllKindsMatchWhatTheyMean) {
  Random random;
  size_t matched = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::string text(random.below(300), 'a');
    for (char& c : text) c = random.below(20) == 0 ? 'b' : 'a';
    std::string pattern;
    for (size_t parts = random.below(4); parts > 0; --parts) {
      pattern += '*';
      for (size_t length = random.below(150); length > 0; --length)
        pattern += "aaaaaaaaaaaa?????b"[random.below(18)];
    }
    if (random.below(2) == 0) pattern += '*';
    const bool expected = plainly_matches(pattern, text);
    if (expected) ++matched;
    ASSERT_EQ(expected, matches_glob(pattern, text)) << pattern << "\n" << text;
  }
  EXPECT_GT(matched, 100U);
}

// One letter after the other would be 4 * 10^9 steps.
TEST(Globs, ThatBeginOverAndOverAreNoLongWork) {
  const std::string text(1 << 20, 'a');
  for (const std::string_view part : {"a", "?", "[abc]", "\\a"}) {
    std::string pattern = "*";
    while (pattern.size() < 4'000) pattern += part;
    EXPECT_FALSE(matches_glob(pattern + "b", text));
    EXPECT_FALSE(matches_glob(pattern + "b*", text));
    EXPECT_TRUE(matches_glob(pattern + "b", text + "b"));
    EXPECT_TRUE(matches_glob(pattern + "*", text));
  }
}

}  // namespace
}  // namespace lapse::server
