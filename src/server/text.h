// Words and numbers in the arguments of commands, read as strictly as Redis reads them.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lapse::server {

inline char to_small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Whether two words are the same but for capitals.
bool same_word(std::string_view a, std::string_view b);
std::string small_letters(std::string_view text);
std::string capitals(std::string_view text);
// Nothing but ASCII that can be printed, and no blanks: as the names of clients must be.
bool is_printable_word(std::string_view text);

// No blanks, no plus sign, no leading zeros: only the text that the number would be written as.
std::optional<int64_t> to_integer(std::string_view text);
std::optional<double> to_real(std::string_view text);

// In double quotes, with what cannot be printed as \xHH: as Redis shows arguments.
std::string quoted(std::string_view text);

// Redis's glob patterns: * ? [a-z] [^a] \x. It costs about what both are long, and for the most awkward pattern of n characters n/64
// times as much.
bool matches_glob(std::string_view pattern, std::string_view text, bool any_case = false);
// What every text that matches begins with.
std::string literal_prefix(std::string_view pattern);

}  // namespace lapse::server
