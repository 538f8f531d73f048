// The list of commits that a store was given, kept outside of it, and the comparison of the two.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace lapse::fault {

using State = std::map<std::string, std::string>;

struct KeyWrite {
  std::string key;
  std::optional<std::string> value;  // nothing: erased
};
using Commit = std::vector<KeyWrite>;

void apply_commit(const Commit& commit, State* state);

// Commits 1, 2, 3, …, and the state after each.
class History {
 public:
  uint64_t size() const { return commits_.size(); }
  // The next commit. Adding does not compute anything.
  void add(Commit commit) { commits_.push_back(std::move(commit)); }
  // Forgets all commits after `sequence`.
  void cut_back_to(uint64_t sequence);
  // The last commit has failed: there will be another one of its number.
  void refuse_last();
  // How it all was while commit `sequence` was under way that would be refused, the nth of that number.
  History before_refusal(uint64_t sequence, size_t nth) const;

  const Commit& commit(uint64_t sequence) const { return commits_[sequence - 1]; }
  State state_after(uint64_t sequence) const;
  // One number that stands for the whole state.
  uint64_t digest_after(uint64_t sequence) const;

 private:
  std::vector<Commit> commits_;
  std::multimap<uint64_t, Commit> refused_;
  mutable std::vector<uint64_t> digests_;  // of the states after 0, 1, … commits, as far as asked for
  mutable State digested_;                 // the state of the last of them
};

// Folds one entry, the next in key order, into the digest of a state.
uint64_t add_to_digest(uint64_t digest, std::string_view key, std::string_view value);
inline constexpr uint64_t kEmptyDigest = 0x6c61707365;

// Everything an engine shows, by a forward scan.
Result<State> read_all(engine::Engine& engine);

// What differs, in words, for messages; "" if nothing does.
std::string difference(const State& expected, const State& found);
// A key or value, short enough to be shown.
std::string shown(std::string_view bytes);

}  // namespace lapse::fault
