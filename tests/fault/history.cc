#include "history.h"

#include <cctype>
#include <iterator>
#include <memory>

#include "base/checksum.h"
#include "base/try.h"

namespace lapse::fault {

void apply_commit(const Commit& commit, State* state) {
  for (const KeyWrite& write : commit) {
    if (write.value) {
      (*state)[write.key] = *write.value;
    } else {
      state->erase(write.key);
    }
  }
}

void History::cut_back_to(uint64_t sequence) {
  if (sequence >= commits_.size()) return;
  commits_.resize(sequence);
  digests_.clear();
  digested_.clear();
}

void History::refuse_last() {
  refused_.emplace(size(), commits_.back());
  cut_back_to(size() - 1);
}

History History::before_refusal(uint64_t sequence, size_t nth) const {
  History history;
  history.commits_.assign(commits_.begin(), commits_.begin() + static_cast<ptrdiff_t>(sequence) - 1);
  history.add(std::next(refused_.lower_bound(sequence), static_cast<ptrdiff_t>(nth))->second);
  return history;
}

State History::state_after(uint64_t sequence) const {
  State state;
  for (uint64_t i = 0; i < sequence; ++i) apply_commit(commits_[i], &state);
  return state;
}

uint64_t add_to_digest(uint64_t digest, std::string_view key, std::string_view value) {
  return checksum(key, value, digest);
}

uint64_t History::digest_after(uint64_t sequence) const {
  if (digests_.empty()) digests_.push_back(kEmptyDigest);
  while (digests_.size() <= sequence) {
    apply_commit(commits_[digests_.size() - 1], &digested_);
    uint64_t digest = kEmptyDigest;
    for (const auto& [key, value] : digested_) digest = add_to_digest(digest, key, value);
    digests_.push_back(digest);
  }
  return digests_[sequence];
}

Result<State> read_all(engine::Engine& engine) {
  LAPSE_TRY_ASSIGN(const std::unique_ptr<engine::Snapshot> snapshot, engine.snapshot());
  const std::unique_ptr<engine::Cursor> cursor = snapshot->cursor();
  State state;
  LAPSE_TRY(cursor->first());
  while (cursor->valid()) {
    state.emplace(cursor->key(), cursor->value());
    LAPSE_TRY(cursor->next());
  }
  return state;
}

std::string shown(std::string_view bytes) {
  static constexpr size_t kMost = 24;
  std::string text = "\"";
  for (const char byte : bytes.substr(0, kMost)) {
    text += std::isprint(static_cast<unsigned char>(byte)) != 0 ? byte : '?';
  }
  text += "\"";
  if (bytes.size() > kMost) text += "… (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

std::string difference(const State& expected, const State& found) {
  std::string text;
  int left = 5;
  for (const auto& [key, value] : expected) {
    const auto at = found.find(key);
    if (at != found.end() && at->second == value) continue;
    if (left-- == 0) break;
    text += "  " + shown(key) + ": expected " + shown(value) + ", found " +
            (at == found.end() ? "nothing" : shown(at->second)) + "\n";
  }
  for (const auto& [key, value] : found) {
    if (expected.contains(key)) continue;
    if (left-- <= 0) break;
    text += "  " + shown(key) + ": expected nothing, found " + shown(value) + "\n";
  }
  return text;
}

}  // namespace lapse::fault
