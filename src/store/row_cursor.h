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
  // Where they lie in the engine, behind `space`.
  engine::Range within(const std::string& space) const {
    return {space + from, to ? space + *to : prefix_end(space)};
  }
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
  LiveRows(const engine::Reader& reader, FamilyId id, const KeyRange& range, int64_t now_ms,
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
  const int64_t now_ms_;
  std::vector<ExpiredKey>* const expired_;
  const std::unique_ptr<engine::Cursor> cursor_;
  Row row_;
  bool valid_ = false;
};

// The keys of a snapshot that have rows, or those that have history. It remembers what it found: where one of the two has
// nothing for a long stretch but what was erased and is not drained yet, that is to be crossed once, and not again
// for each key that the other one has there.
class PastKeys {
 public:
  // Where they lie in the engine's map.
  struct Layout {
    std::string (*prefix)(FamilyId id);
    std::string (*place)(FamilyId id, std::string_view key);
    std::optional<std::string> (*parse)(std::string_view behind_prefix);
  };

  PastKeys(const engine::Reader& reader, FamilyId id, const KeyRange& range, const Layout& layout);

  // The first one at or after `key`, or the last one before it (none: the last one).
  Result<std::optional<std::string>> first_from(const std::string& key);
  Result<std::optional<std::string>> last_before(const std::optional<std::string>& key);

 private:
  // There is none between where a search began and what it found.
  struct Ahead {
    std::string from;
    std::optional<std::string> found;
  };
  struct Behind {
    std::optional<std::string> from;
    std::optional<std::string> found;
  };

  Result<std::optional<std::string>> key_here() const;

  const FamilyId id_;
  const Layout layout_;
  const size_t prefix_bytes_;
  const std::unique_ptr<engine::Cursor> cursor_;
  std::optional<Ahead> ahead_;
  std::optional<Behind> behind_;
};

class PastRows final : public RowCursor {
 public:
  PastRows(const engine::Reader& reader, FamilyId id, const KeyRange& range, int64_t at_ms);

  Status seek(std::string_view key) override;
  Status seek_before(const std::optional<std::string>& key) override;
  Status next() override;
  Status prev() override;
  bool valid() const override { return valid_; }
  std::string_view key() const override { return key_; }
  const Row& row() const override { return row_; }

 private:
  Result<bool> was_visible_here();

  const engine::Reader& reader_;
  const FamilyId id_;
  const int64_t at_ms_;
  PastKeys in_rows_;
  PastKeys in_history_;
  std::string key_;
  std::string value_;
  Row row_;
  bool valid_ = false;
};

}  // namespace lapse::internal
