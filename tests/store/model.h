// The contract, written down a second time: as plainly as can be, in maps and vectors, for the store to be compared
// with. Nothing here is quick, shared or stored.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lapse/store.h"

namespace lapse::model {

// When something is done: what the clock says, how a commit is dated, and its number.
struct Moment {
  int64_t now_ms = 0;
  int64_t written_at_ms = 0;  // now, but never before the commit ahead of it
  uint64_t revision = 0;
};

struct Row {
  std::string value;
  int64_t deadline_ms = kNever;
  int64_t written_at_ms = 0;
  uint64_t revision = 0;  // also in families whose keys show none

  bool is_visible(int64_t now_ms) const { return now_ms < deadline_ms; }
};

struct PastRow {
  Revision revision;
  uint64_t ended_by = 0;  // the commit that replaced it
};

struct KeyState {
  std::optional<Row> row;     // what is stored, expired or not
  std::vector<PastRow> past;  // the oldest first
  // What went with a commit, which may turn out to be kept as long as that is not made.
  std::vector<PastRow> trimmed;
  uint64_t trimmed_by = 0;
};

class Family {
 public:
  explicit Family(FamilyOptions family_options = {}) : options(family_options) {}

  // ------------------------------------------------------------------------------------------- reading

  const Row* stored(const std::string& key) const;
  const Row* visible(const std::string& key, int64_t now_ms) const;  // null if there is none
  std::map<std::string, Row> all_visible(int64_t now_ms) const;
  std::vector<Expiring> expiring(int64_t from_ms, int64_t to_ms, int64_t now_ms) const;
  // How many of them end in each of `buckets` stretches of `width_ms` from now on.
  std::vector<uint64_t> forecast(int64_t width_ms, size_t buckets, int64_t now_ms) const;
  int64_t earliest_deadline_ms() const;  // of what is stored, due or not
  size_t stored_count() const;
  int64_t latest_date_ms() const;  // of a revision

  std::vector<Revision> history(const std::string& key, int64_t now_ms) const;
  std::optional<std::string> get_at(const std::string& key, int64_t at_ms) const;
  std::map<std::string, std::string> all_at(int64_t at_ms) const;

  // ------------------------------------------------------------------------------------------- writing

  void put(const std::string& key, const std::string& value, Lifetime lifetime, const Moment& at);
  bool erase(const std::string& key, const Moment& at);
  void set_deadline(const std::string& key, int64_t deadline_ms);
  // The key was due and has been removed.
  void remove_expired(const std::string& key, const Moment& at);
  uint64_t purge_expired(uint64_t limit, const Moment& at);
  uint64_t purge_history(const Moment& at);
  void clear() { keys_.clear(); }

  int64_t deadline_for(Lifetime lifetime, int64_t now_ms, const Row* present) const;

  FamilyOptions options;

 private:
  void replace(const std::string& key, std::optional<Row> next, const Moment& at);
  uint64_t trim(KeyState* state, const Moment& at) const;

  std::map<std::string, KeyState> keys_;
};

using State = std::map<std::string, Family>;  // by name

}  // namespace lapse::model
