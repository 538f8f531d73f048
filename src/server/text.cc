#include "server/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace lapse::server {

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_small(x) == to_small(y); });
}

std::string small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), to_small);
  return small;
}

std::string capitals(std::string_view text) {
  std::string large(text);
  std::transform(large.begin(), large.end(), large.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return large;
}

bool is_printable_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '!' && c <= '~'; });
}

std::optional<int64_t> to_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits[0] == '0' && text.size() > 1)) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> to_real(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.size() > 255) return std::nullopt;
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(terminated.c_str(), &end);
  if (end != terminated.c_str() + terminated.size() || std::isnan(number)) return std::nullopt;
  return number;
}

std::string quoted(std::string_view text) {
  constexpr std::string_view kShort = "\n\r\t\a\b";
  constexpr std::string_view kLetters = "nrtab";
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (const size_t at = kShort.find(c); at != std::string_view::npos) {
      out += {'\\', kLetters[at]};
    } else if (code < 0x20 || code >= 0x7f) {
      out += {'\\', 'x', kHex[code >> 4], kHex[code & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

namespace {

// Whether `c` is in the class that begins behind '[' at `*at`; moves it onto the closing bracket, or the end.
bool in_class(std::string_view pattern, size_t* at, char c) {
  const auto folded = [](char x) { return static_cast<unsigned char>(x); };
  const bool negated = *at < pattern.size() && pattern[*at] == '^';
  if (negated) ++*at;
  bool found = false;
  for (; *at < pattern.size() && pattern[*at] != ']'; ++*at) {
    if (pattern[*at] == '\\' && *at + 1 < pattern.size()) {
      ++*at;
      found |= pattern[*at] == c;
    } else if (*at + 2 < pattern.size() && pattern[*at + 1] == '-') {
      const auto [low, high] = std::minmax({folded(pattern[*at]), folded(pattern[*at + 2])});
      found |= low <= folded(c) && folded(c) <= high;
      *at += 2;
    } else {
      found |= pattern[*at] == c;
    }
  }
  return found != negated;
}

// Whether one character, at *at of the pattern and not '*', matches; moves behind it.
bool matches_one(std::string_view pattern, size_t* at, char c) {
  bool matches = true;
  if (pattern[*at] == '[') {
    ++*at;
    matches = in_class(pattern, at, c);
  } else if (pattern[*at] != '?') {
    if (pattern[*at] == '\\' && *at + 1 < pattern.size()) ++*at;
    matches = pattern[*at] == c;
  }
  *at = std::min(*at + 1, pattern.size());
  return matches;
}

// Whether a pattern behind a '*' matches, by following all ways at once, with a bit for each.
bool matches_behind_star(std::string_view pattern, std::string_view text) {
  std::vector<size_t> parts;                             // where each stands that matches one character
  std::vector<uint64_t> stays(pattern.size() / 64 + 1);  // i: a '*' stands before part i
  const auto set = [](std::vector<uint64_t>* bits, size_t i) { (*bits)[i / 64] |= uint64_t{1} << (i % 64); };
  set(&stays, 0);
  for (size_t at = 0; at < pattern.size();) {
    if (pattern[at] == '*') {
      set(&stays, parts.size());
      ++at;
    } else {
      parts.push_back(at);
      matches_one(pattern, &at, '\0');  // moves behind it
    }
  }
  const size_t words = parts.size() / 64 + 1;
  std::vector<uint64_t> ways(words);  // i: the first i parts have matched
  set(&ways, 0);
  std::array<std::vector<uint64_t>, 256> fits;  // which parts a character matches, once it has come
  for (const char c : text) {
    std::vector<uint64_t>& fit = fits[static_cast<unsigned char>(c)];
    if (fit.empty()) {
      fit.resize(words);
      for (size_t i = 0; i < parts.size(); ++i) {
        size_t at = parts[i];
        if (matches_one(pattern, &at, c)) set(&fit, i);
      }
    }
    uint64_t carried = 0;
    for (size_t i = 0; i < words; ++i) {
      const uint64_t moved = ways[i] & fit[i];
      ways[i] = moved << 1 | carried | (ways[i] & stays[i]);
      carried = moved >> 63;
    }
  }
  return (ways[parts.size() / 64] >> (parts.size() % 64) & 1) != 0;
}

}  // namespace

// Without recursion: only the last '*' is ever tried again. That is quickest for what people write; where it has to begin over
// and over, all beginnings are followed at once instead.
bool matches_glob(std::string_view pattern, std::string_view text, bool any_case) {
  if (any_case) return matches_glob(small_letters(pattern), small_letters(text), false);
  size_t in_pattern = 0;
  size_t in_text = 0;
  size_t star = std::string_view::npos;  // behind the last '*'
  size_t star_text = 0;                  // how far it reaches at present
  size_t in_vain = 0;                    // what has been gone through behind it and did not match
  while (in_text < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = ++in_pattern;
      star_text = in_text;
    } else if (in_pattern < pattern.size() && matches_one(pattern, &in_pattern, text[in_text])) {
      ++in_text;
    } else if (star != std::string_view::npos) {
      in_vain += in_pattern - star;
      if (in_vain > 1'024 + 8 * text.size())
        return matches_behind_star(pattern.substr(star), text.substr(star_text));
      in_pattern = star;
      in_text = ++star_text;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

std::string literal_prefix(std::string_view pattern) {
  std::string prefix;
  for (size_t i = 0; i < pattern.size() && pattern[i] != '*' && pattern[i] != '?' && pattern[i] != '['; ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    prefix += pattern[i];
  }
  return prefix;
}

}  // namespace lapse::server
