// The catalog: which families there are, where their rows lie, and what their policies are.
//
// A catalog row is a list of pairs (field varint, value varint); a field that is not there is 0. A field that this
// version does not know was written by a newer Lapse, and is refused.
//
// Who may look at what, without a lock or a lookup in the engine:
//
//   readers     Family::id, in a snapshot taken while no change of the catalog was under way
//   the writer  Family::record, in a transaction begun while none was
//
// A change is under way from before its commit until it has been published here (changes_begun, changes_done in
// store_state.h). Whoever meets one reads the catalog row in its own snapshot or transaction instead, which is always
// right. Changes are rare: families made, dropped, cleared, swapped; policies set; a family's first TTL.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "lapse/options.h"
#include "lapse/status.h"
#include "store/keys.h"

namespace lapse::internal {

class StoreState;

inline constexpr std::string_view kDefaultFamilyName = "default";

struct FamilyRecord {
  FamilyId id = 0;        // where its rows lie; changes when it is cleared or swapped
  uint64_t identity = 0;  // tells it from one that is made under its name later; never changes
  bool used_ttl = false;  // whether any of its rows may have a deadline
  FamilyOptions options;

  bool keeps_revisions() const { return options.revisions || options.history.has_value(); }
  // Whether a write must know the row that it replaces.
  bool reads_before_writes() const { return used_ttl || options.counted || options.history.has_value(); }
};

std::string encode_record(const FamilyRecord& record);
Result<FamilyRecord> decode_record(std::string_view name, std::string_view bytes);

// What the catalog says in this snapshot or transaction. kNotFound: there is no such family.
Result<FamilyRecord> read_record(const engine::Reader& reader, std::string_view name);

Status check_family_name(std::string_view name);
Status check_family_options(const FamilyOptions& options);

// A family as this process knows it.
class Family {
 public:
  Family(const StoreState* its_store, std::string its_name, uint64_t its_identity)
      : store(its_store), name(std::move(its_name)), identity(its_identity) {}

  const StoreState* const store;
  const std::string name;
  const uint64_t identity;
  std::atomic<FamilyId> id{0};  // 0: dropped, or not made yet

  // The writer's.
  FamilyRecord record;
  std::atomic<uint64_t> published_by{0};  // the commit that `record` is from; 0: not made yet

  // No expiry entry lies before due_from (empty: before the first), and so none is due before next_due_ms (0: not known).
  // The former is the writer's; the latter may be read by anyone, as a hint: StoreState::next_due() says whether it holds.
  std::string due_from;
  std::atomic<int64_t> next_due_ms{0};
  // The latest commit on whose word next_due_ms was raised; stored before that is. In a snapshot that has this commit, no
  // entry lies before next_due_ms either.
  std::atomic<uint64_t> due_raised_by{0};

  // How far somebody who looks for what is due has looked ahead, and a number that stays the same until the next one does, or
  // an entry is added up to that deadline. The writer's.
  int64_t found_until_ms = kNever;
  uint64_t finding = 0;

  uint64_t swept_by = 0;  // the number of the latest transaction that could sweep here. The writer's.

  void forget_due() {
    due_from.clear();
    ++finding;
    next_due_ms.store(0);
  }
};

// What a call is told about a family that is gone.
Status dropped_family(std::string_view name);

// Reads the family's record by its row. kNotFound if it has been dropped, even if another has its name now.
Result<FamilyRecord> read_record_of(const engine::Reader& reader, const Family& family);

}  // namespace lapse::internal
