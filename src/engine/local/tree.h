// Tree: the drained part of a store, in an LMDB file. The only place that knows LMDB; see also page_tree.h,
// which reads the file's pages.
//
// LMDB's sharp edges, and what is done about each here:
//  - Its reading code trusts the file: reads go through PageTree, over a mapping of our own, and the pages
//    that a write will touch are checked first.
//  - Its map has a size: it is doubled when a write finds it full. Readers do not notice, their mapping being
//    our own.
//  - It keeps old pages for old readers: each Generation holds one read transaction, and goes when nobody
//    reads there.
//  - Two environments on one file in one process undo each other's locks: the registry in local_engine.cc
//    prevents that.
//  - Opening a full disk's lock file is a SIGBUS: it is allocated first.
//
// Threads: generations may be used and dropped by anyone; everything else by one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/function_ref.h"
#include "engine/engine.h"
#include "engine/local/page_tree.h"
#include "engine/local/path_checker.h"
#include "engine/local/store_meta.h"
#include "engine/local/tree_check.h"
#include "engine/local/tree_rows.h"

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

namespace lapse::engine {

class TreeEnvironment;  // LMDB's environment; closed with the last generation

// The tree as of one of its commits, for as long as the object lives. Any number of threads may read.
class Generation {
 public:
  Generation(std::shared_ptr<TreeEnvironment> environment, std::shared_ptr<const void> map, MDB_txn* pin,
             const PageTree& pages, const TreeMeta& pages_meta, const StoreMeta& meta);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  const StoreMeta& meta() const { return meta_; }
  const PageTree& pages() const { return pages_; }
  uint64_t file_bytes() const { return pages_meta_.page_count * pages_meta_.page_bytes; }

  // The bytes stay valid while the generation lives. kCorrupt says where.
  Result<std::optional<std::string_view>> get(std::string_view key, bool verify_checksum) const {
    return Search(this, key).get(verify_checksum);
  }
  // The same in two steps, for who can do something else while what is looked at first comes from memory.
  class Search {
   public:
    // Both must outlive it.
    Search(const Generation* generation, std::string_view key);
    Result<std::optional<std::string_view>> get(bool verify_checksum);

   private:
    Result<std::optional<std::string_view>> get_row();

    const Generation* const generation_;
    RowPath path_;
    std::optional<PageTree::Way> way_;  // to the row that path_ stands at
  };

  // Reader::expect(), but for those keys that will be found elsewhere.
  void expect(std::span<const std::string_view> keys,
              FunctionRef<bool(std::string_view key)> is_elsewhere) const;

  // Reads everything; see Engine::verify().
  Status verify() const;
  Result<uint64_t> free_bytes() const;
  Result<FreePages> check_free_list() const;
  // About how many entries have keys in [from, to).
  Result<double> estimate_entries(std::string_view from, std::string_view to) const;
  // The same error, with the name of the file in front.
  Status with_path(Status status) const;

 private:
  const uint64_t number_;  // of all generations of the process, only this one has it
  const std::shared_ptr<TreeEnvironment> environment_;
  const std::shared_ptr<const void> map_;
  MDB_txn* const pin_;
  const PageTree pages_;
  const TreeMeta pages_meta_;
  const StoreMeta meta_;
};

// Walks the entries of a generation, which must outlive it; forks are followed.
class TreeCursor {
 public:
  TreeCursor(const Generation* generation, bool verify_checksums)
      : rows_(&generation->pages()), verify_(verify_checksums) {}

  Status seek(std::string_view key);
  Status first();
  Status last();
  Status next();  // REQUIRES: valid()
  Status prev();  // REQUIRES: valid()

  bool valid() const { return valid_; }
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  // A fork that was followed: its row, and how much of the key it stands for.
  struct Fork {
    std::string row_key;
    size_t base_bytes;
  };

  Status restart(Status status);
  Status settle_forward();
  Status settle_backward();
  bool in_level() const { return rows_.valid() && rows_.key().starts_with(prefix_); }
  Status enter_fork();
  Status seek_last_of_level();
  Status leave_fork();
  Status load();

  PageCursor rows_;
  const bool verify_;
  bool valid_ = false;
  std::string prefix_{kEntrySpacePrefix};  // of the rows of this level
  std::vector<Fork> forks_;                // none for keys that fit into a row
  std::string base_;                       // what the forks stand for
  std::string long_key_;
  std::string_view key_;
  std::string_view value_;

  static constexpr std::string_view kEntrySpacePrefix{"\1", 1};
};

// Writes of one LMDB transaction.
class TreeBatch {
 public:
  Status put(std::string_view key, std::string_view value);
  Status erase(std::string_view key);
  // put() for a fresh tree and short keys in order: fills pages to the brim.
  Status append(std::string_view key, std::string_view value);

 private:
  friend class Tree;
  TreeBatch(const TreeEnvironment* environment, MDB_cursor* cursor, std::optional<PathChecker> checker,
            const StoreMeta& meta);

  void tally(StoreMeta* meta) const;
  Status put_row(std::string_view row_key, std::string_view value, unsigned flags);
  Status put_meta(StoreMeta meta);
  Status erase_row(std::string_view row_key, bool* erased);
  Result<std::optional<uint64_t>> find_fork(std::string_view row_key);
  Result<bool> level_is_empty(std::string_view prefix);
  Status check_put(std::string_view row_key, size_t row_bytes);
  Status check_erase(std::string_view row_key);
  Status lmdb_error(int code, std::string_view what);

  const TreeEnvironment* environment_;
  MDB_cursor* cursor_;
  std::optional<PathChecker> checker_;
  uint64_t rows_;
  uint64_t row_sum_;
  uint64_t next_long_key_id_;
  bool map_full_ = false;
};

class Tree {
 public:
  enum class Mode { kReadWrite, kReadOnly, kTemporary };  // kTemporary: never synced

  // Writes, and says what the StoreMeta shall be then (its rows, row_sum and next_long_key_id are kept up
  // here). It may be called again for the same commit, if the map has to grow.
  using Fill = std::function<Result<StoreMeta>(TreeBatch* batch)>;
  // Puts in some more, a few MB at a time; false when that was all.
  using FillSome = std::function<Result<bool>(TreeBatch* batch)>;

  // Creates a tree at `path`, which must not exist, under the name <path>-new until it is whole; without `fill`, an empty
  // one. When this returns, it survives a power cut. On error no file is left, but where all that failed is to sync its
  // name: then it is whole, and may be there. kBusy: somebody else is making it.
  static Status create(const std::string& path, StoreMeta meta, const FillSome& fill);

  // kInvalidArgument if there is anything at `path`.
  static Status check_absent(const std::string& path);

  // Whether there is a file that may be a store: kNotFound, or kInvalidArgument with what is there instead.
  // Reads only what never changes, so it may be called while another process writes.
  static Status check_kind(const std::string& path);

  // kNotFound, kInvalidArgument (no Lapse store), kUnsupported (newer), kCorrupt, kNoSpace, kIoError. A file
  // that is refused is not touched.
  static Result<std::unique_ptr<Tree>> open(const std::string& path, Mode mode, size_t map_bytes);
  ~Tree();

  // The newest state.
  const std::shared_ptr<const Generation>& current() const { return current_; }

  // One LMDB commit. A power cut may undo it, and what was committed after it, but nothing before, until
  // sync() returns. kNoSpace: nothing happened, or it did and cannot be shown yet; either way it may be tried again.
  // After any other error the tree may only be read. Of a sync that failed for lack of space, within a commit, it is known
  // what it can have lost: that is written again first.
  Status write(const Fill& fill);
  // An error is final.
  Status sync();

 private:
  Tree(std::string path, Mode mode, std::shared_ptr<TreeEnvironment> environment)
      : path_(std::move(path)), mode_(mode), environment_(std::move(environment)) {}

  static Status fill_new_file(const std::string& path, StoreMeta* meta, const FillSome& fill);
  Status try_write(const Fill& fill, bool* map_full);
  Status advance();
  Status settle();

  const std::string path_;
  const Mode mode_;
  std::shared_ptr<TreeEnvironment> environment_;
  std::shared_ptr<const Generation> current_;
  std::string meta_page_;  // of current_
  bool behind_ = false;    // whether LMDB has committed what current_ is not yet
  bool in_doubt_ = false;  // whether current_'s meta page may be lost with a sync that failed
};

}  // namespace lapse::engine
