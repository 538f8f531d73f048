// FamilyWriter: changes a family's keys within a transaction.
//
// Invariants, which replace() keeps, and nothing else writes rows:
//  - A data row has a deadline if and only if there is an expiry entry for it, at that deadline. So no entry is stale,
//    and none can ever remove a key that was given more time.
//  - Data row, expiry entry, history row and count change in one transaction.
//  - A family without TTLs, history or count is written without being read.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lapse/keyspace.h"
#include "lapse/status.h"
#include "store/catalog.h"
#include "store/keys.h"
#include "store/row.h"
#include "store/write_transaction.h"

namespace lapse::internal {

class FamilyWriter {
 public:
  static Result<FamilyWriter> make(WriteTransaction* transaction, const std::shared_ptr<Family>& family);

  FamilyId id() const { return record_.id; }
  const FamilyOptions& options() const { return record_.options; }
  const FamilyRecord& record() const { return record_; }
  const std::shared_ptr<Family>& family() const { return family_; }
  WriteTransaction* transaction() const { return transaction_; }
  int64_t now_ms() const { return transaction_->now_ms(); }

  // The row, visible or not. Its value is good until the next write.
  Result<std::optional<Row>> stored_row(std::string_view key) const;
  Result<std::optional<Row>> visible_row(std::string_view key) const;

  // Reader::expect(), of keys that are about to be changed.
  void expect(std::span<const std::string_view> keys) const {
    expect_rows(*transaction_->engine(), id(), keys);
  }

  // The deadline that this lifetime gives a key that is written now, by the family's policies.
  Result<int64_t> deadline_for(std::string_view key, const Lifetime& lifetime,
                               std::optional<int64_t> present_deadline_ms) const;

  // `value` must not lie in a row that was read here: writes may move it.
  Status put(std::string_view key, std::string_view value, const Lifetime& lifetime);
  // The same, where the stored row is known.
  Status put_over(std::string_view key, const std::optional<Row>& old, std::string_view value,
                  const Lifetime& lifetime);
  // Whether it was there to be seen.
  Result<bool> erase(std::string_view key);
  Status erase_row(std::string_view key, const Row& old);
  // For a row that is due: data row and expiry entry go, history remembers.
  Status remove_expired(std::string_view key, const Row& old);
  // No new revision.
  Status set_deadline(std::string_view key, const Row& old, int64_t deadline_ms);

  // Starts anew under another id; what was there is garbage.
  Status clear();

 private:
  struct NewRow {
    std::string_view value;
    int64_t deadline_ms;
  };

  FamilyWriter(WriteTransaction* transaction, std::shared_ptr<Family> family, const FamilyRecord& record)
      : transaction_(transaction), family_(std::move(family)), record_(record) {}

  Status replace(std::string_view key, const std::optional<Row>& old, const std::optional<NewRow>& next,
                 Ending ending);
  Status put_row(std::string_view key, const std::optional<Row>& old, const NewRow& next,
                 std::optional<RevisionInfo> revision);
  Status move_expiry(std::string_view key, int64_t old_deadline_ms, int64_t new_deadline_ms);
  Status remember_ttl_use();
  Status change_count(int64_t by);
  std::optional<RevisionInfo> new_revision() const;

  WriteTransaction* transaction_;
  std::shared_ptr<Family> family_;
  FamilyRecord record_;
};

// Takes the next family id.
Result<FamilyId> take_family_id(WriteTransaction* transaction);
// Marks all rows of a family id as garbage.
Status discard_family_id(WriteTransaction* transaction, FamilyId id);

// The number of data rows of a counted family, visible or not.
Result<uint64_t> read_count(const engine::Reader& reader, FamilyId id);
Status write_count(WriteTransaction* transaction, FamilyId id, uint64_t count);

}  // namespace lapse::internal
