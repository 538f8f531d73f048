// RowCursor: walks over the visible rows of a family, between two keys.
//
// LiveRows reads the data rows. PastRows shows a moment of the past: for each key that has a row or history, the
// revision that was visible then.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "lapse/status.h"
#include "store/expiry.h"
#include "store/keys.h"
#include "store/row.h"

namespace lapse::internal {

struct KeyRange {
  std::string from;               // inclusive
  std::optional<std::string> to;  // exclusive; none: no end

  // Those keys that also start with `prefix`.
  static KeyRange of(std::string_view prefix, const std::optional<std::string>& from,
                     const std::optional<std::string>& to);
  bool is_before_end(std::string_view key) const { return !to || key < *to; }
};

class RowCursor {
 public:
  virtual ~RowCursor() = default;

  // To the first row at or after `key`, or the last one before it (none: the last one). Never out of the range.
  virtual Status seek(std::string_view key) = 0;
  virtual Status seek_before(const std::optional<std::string>& key) = 0;
  // REQUIRES: valid()
  virtual Status next() = 0;
  virtual Status prev() = 0;

  virtual bool valid() const = 0;
  virtual std::string_view key() const = 0;
  virtual const Row& row() const = 0;
};

class LiveRows final : public RowCursor {
 public:
  // The most expired keys that are remembered.
  static constexpr size_t kMostExpired = 4096;

  // The reader must outlive it. `expired`, if given, takes the expired keys that it passes.
  LiveRows(const engine::Reader& reader, FamilyId id, KeyRange range, int64_t now_ms,
           std::vector<ExpiredKey>* expired);

  Status seek(std::string_view key) override;
  Status seek_before(const std::optional<std::string>& key) override;
  Status next() override;
  Status prev() override;
  bool valid() const override { return valid_; }
  std::string_view key() const override { return cursor_->key().substr(prefix_.size()); }
  const Row& row() const override { return row_; }

 private:
  Status settle_forward();
  Status settle_backward();
  Result<bool> is_visible_here();

  const std::string prefix_;
  const std::string from_;  // of the range, as engine keys
  const std::string to_;
  const int64_t now_ms_;
  std::vector<ExpiredKey>* const expired_;
  const std::unique_ptr<engine::Cursor> cursor_;
  Row row_;
  bool valid_ = false;
};

class PastRows final : public RowCursor {
 public:
  PastRows(const engine::Reader& reader, FamilyId id, KeyRange range, int64_t at_ms);

  Status seek(std::string_view key) override;
  Status seek_before(const std::optional<std::string>& key) override;
  Status next() override;
  Status prev() override;
  bool valid() const override { return valid_; }
  std::string_view key() const override { return key_; }
  const Row& row() const override { return row_; }

 private:
  Result<std::optional<std::string>> first_key_from(const std::string& key);
  Result<std::optional<std::string>> last_key_before(const std::optional<std::string>& key);
  Result<bool> take(const std::string& key);

  const engine::Reader& reader_;
  const FamilyId id_;
  const KeyRange range_;
  const int64_t at_ms_;
  const std::unique_ptr<engine::Cursor> data_;
  const std::unique_ptr<engine::Cursor> history_;
  std::string key_;
  std::string value_;
  Row row_;
  bool valid_ = false;
};

}  // namespace lapse::internal
