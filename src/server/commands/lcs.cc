// LCS: the longest common subsequence of two values.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/values.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// LCS key1 key2 [LEN] [IDX] [MINMATCHLEN length] [WITHMATCHLEN]
struct Options {
  bool length_only = false;
  bool indexes = false;
  bool with_lengths = false;
  int64_t min_length = 0;
};

Result<Options> parse(const Call& call) {
  Options options;
  for (size_t i = 3; i < call.size(); ++i) {
    if (same_word(call[i], "LEN")) {
      options.length_only = true;
    } else if (same_word(call[i], "IDX")) {
      options.indexes = true;
    } else if (same_word(call[i], "WITHMATCHLEN")) {
      options.with_lengths = true;
    } else if (same_word(call[i], "MINMATCHLEN") && i + 1 < call.size()) {
      const std::optional<int64_t> length = to_integer(call[++i]);
      if (!length) return not_an_integer();
      options.min_length = std::max<int64_t>(*length, 0);
    } else {
      return syntax_error();
    }
  }
  if (options.length_only && options.indexes)
    return refuse("ERR If you want both the length and indexes, please just use IDX.");
  return options;
}

// The work grows with the product of the lengths. Redis holds a table of 4 bytes for each pair of bytes, and refuses when
// that is more than a value may have; we need a bit for each pair, and refuse when Redis does.
Status check_size(const Call& call, size_t a, size_t b) {
  constexpr uint64_t kLongest = 0xffff'fffe;
  if (a >= kLongest || b >= kLongest) return refuse("ERR String too long for LCS");
  const unsigned __int128 bytes = static_cast<unsigned __int128>(a + 1) * (b + 1) * sizeof(uint32_t);
  if (bytes <= static_cast<uint64_t>(call.server.config().max_bulk_bytes)) return {};
  return refuse("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
}

// A stretch that both have, each from its own place.
struct Match {
  size_t in_a;
  size_t in_b;
  size_t length;
};

// The subsequence is found by length first: that of the first i bytes of a and j of b follows from those of one byte less.
// Two rows of lengths are kept, and of each pair only whether it is a's last byte that can be left out without loss.
class CommonSubsequence {
 public:
  CommonSubsequence(std::string_view a, std::string_view b)
      : a_(a), b_(b), leave_out_a_((a.size() + 1) * (b.size() + 1)) {
    std::vector<uint32_t> above(b.size() + 1);
    std::vector<uint32_t> row(b.size() + 1);
    for (size_t i = 1; i <= a.size(); ++i) {
      for (size_t j = 1; j <= b.size(); ++j) {
        if (a[i - 1] == b[j - 1]) {
          row[j] = above[j - 1] + 1;
        } else {
          leave_out_a_[cell(i, j)] = above[j] > row[j - 1];
          row[j] = std::max(above[j], row[j - 1]);
        }
      }
      row.swap(above);
    }
    length_ = above[b.size()];
  }

  size_t length() const { return length_; }

  // From the last to the first.
  std::vector<Match> matches() const {
    std::vector<Match> found;
    bool goes_on = false;  // the last match, by the next byte before it
    size_t i = a_.size();
    size_t j = b_.size();
    while (i > 0 && j > 0) {
      if (a_[i - 1] != b_[j - 1]) {
        leave_out_a_[cell(i, j)] ? --i : --j;
        goes_on = false;
        continue;
      }
      --i;
      --j;
      if (!goes_on) found.push_back({i, j, 0});
      found.back() = {i, j, found.back().length + 1};
      goes_on = true;
    }
    return found;
  }

  std::string text() const {
    std::string text;
    std::vector<Match> found = matches();
    for (auto match = found.rbegin(); match != found.rend(); ++match)
      text.append(a_.substr(match->in_a, match->length));
    return text;
  }

 private:
  size_t cell(size_t i, size_t j) const { return i * (b_.size() + 1) + j; }

  std::string_view a_;
  std::string_view b_;
  std::vector<bool> leave_out_a_;
  size_t length_ = 0;
};

void reply_place(Call& call, size_t begin, size_t length) {
  call.reply.array(2);
  call.reply.integer(static_cast<int64_t>(begin));
  call.reply.integer(static_cast<int64_t>(begin + length - 1));
}

void reply_matches(Call& call, const CommonSubsequence& common, const Options& options) {
  std::vector<Match> matches = common.matches();
  std::erase_if(matches,
                [&](const Match& match) { return static_cast<int64_t>(match.length) < options.min_length; });
  call.reply.map(2);
  call.reply.bulk("matches");
  call.reply.array(matches.size());
  for (const Match& match : matches) {
    call.reply.array(options.with_lengths ? 3 : 2);
    reply_place(call, match.in_a, match.length);
    reply_place(call, match.in_b, match.length);
    if (options.with_lengths) call.reply.integer(static_cast<int64_t>(match.length));
  }
  call.reply.bulk("len");
  call.reply.integer(static_cast<int64_t>(common.length()));
}

Status lcs(Call& call) {
  LAPSE_TRY_ASSIGN(const Options options, parse(call));
  LAPSE_TRY_ASSIGN(std::optional<std::string> found_a, look_up(call, call[1]));
  LAPSE_TRY_ASSIGN(std::optional<std::string> found_b, look_up(call, call[2]));
  const std::string a = std::move(found_a).value_or("");
  const std::string b = std::move(found_b).value_or("");
  LAPSE_TRY(check_size(call, a.size(), b.size()));
  const CommonSubsequence common(a, b);
  if (options.indexes) {
    reply_matches(call, common, options);
  } else if (options.length_only) {
    call.reply.integer(static_cast<int64_t>(common.length()));
  } else {
    call.reply.bulk(common.text());
  }
  return {};
}

constexpr Command kCommands[] = {
    {"lcs",
     -3,
     kReadOnly,
     {1, 2, 1},
     "string",
     "7.0.0",
     "Finds the longest common subsequence of two values.",
     lcs},
};

}  // namespace

std::span<const Command> lcs_commands() { return kCommands; }

}  // namespace lapse::server
