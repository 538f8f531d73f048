// Store: a key-value store whose speciality is time.
//
//   #include <lapse/store.h>
//   using namespace std::chrono_literals;
//
//   auto store = lapse::Store::open("my.db");
//   if (!store.ok()) return report(store.status());
//
//   store->put("session:42", "ada", 30min);               // gone in 30 minutes
//   auto who = store->get("session:42");                  // Result<std::optional<std::string>>
//   store->put_if_absent("lease", "worker-7", 10s);       // one of many gets it
//   store->increment("calls:ada", 1, {.lifetime = 1min, .max = 100});
//
//   auto docs = store->create_family("docs", {.history = lapse::HistoryPolicy{.keep_last = 10}});
//   docs->put("readme", "first");
//   docs->get_at("readme", at_noon_ms);                   // what it held then
//
//   store->update([&](lapse::Transaction& t) -> lapse::Status {
//     ...                                                  // all of it or nothing
//   });
//
// keyspace.h has everything that can be done with keys; this page has what there is only once: opening, families,
// transactions, snapshots, maintenance.
//
// Threads: a Store, its Families and Snapshots may be used by any number of threads at once, and readers wait for
// nobody. There is one writer at a time. A Transaction and an Iterator are for one thread at a time. Several Stores
// may be open on one file in one process; a second process gets kBusy, with the first one's pid.
//
// After fork() the child's handles answer kUnavailable; it may open the store anew once the parent has closed it.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapse/keyspace.h"
#include "lapse/options.h"
#include "lapse/status.h"

namespace lapse {

namespace internal {
class StoreOpener;
class TransactionScope;
}  // namespace internal

// A column family: keys, lifetimes, history and policies of its own, isolated from those of others. Families cost
// little, and there may be any number. A handle is a reference: copy it freely. When the family is dropped, its
// handles answer kNotFound, also if another is created under its name.
class Family final : public Keyspace {
 private:
  using Keyspace::Keyspace;
  friend class Store;
  friend class Transaction;
};

// A moment that stays: all reads see what was committed when it was taken, judged by the clock reading taken then.
// snapshot_at() gives one of the past. It keeps disk space from being used again: do not keep one for days.
class Snapshot final : public Reader {
 public:
  // The same moment in another family.
  Reader in(const Family& family) const;
  int64_t now_ms() const;

 private:
  using Reader::Reader;
  friend class Store;
};

// A place in a transaction to come back to. Savepoint() is the beginning of any.
struct Savepoint {
  size_t writes = 0;        // so many stood before it,
  uint64_t last_write = 0;  // and this was the last of them
};

// Many calls that take effect together, at commit(), or not at all. It reads what is committed with its own writes
// over it, by one clock reading taken when it began, which also dates all that it writes. No other transaction is open
// meanwhile: keep it short. Dropped without commit(), it is rolled back.
//
// A call that fails leaves the transaction as it was before that call, and usable. After commit() or rollback() every
// call that could fail is kInvalidArgument.
class Transaction final : public Keyspace {
 public:
  ~Transaction();
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;

  // The same transaction in another family.
  Family in(const Family& family) const;

  // As those of Store, but they take effect with the transaction, and are undone with it. Handles are the store's: use
  // them by in() here, by themselves after commit(). If it comes to nothing, those of a family that it made answer
  // kNotFound for good.
  Result<Family> create_family(std::string_view name, const FamilyOptions& options = {});
  Status drop_family(std::string_view name);
  Status swap_families(std::string_view a, std::string_view b);
  // What there is as of this transaction.
  Result<Family> family(std::string_view name) const;
  Result<std::vector<std::string>> list_families() const;

  // The commit's number, which is the revision of all it wrote. An error means that nothing was changed, except
  // kUnknown: see keyspace.h.
  Result<uint64_t> commit();
  // For those who have better to do than to wait for the disk, at durability full: as commit(), but it only lets the disk go
  // to work. Later transactions see it at once; everyone else when Store::wait_durable() of its number has returned, or a
  // later commit(). Tell nobody of it before. At other durabilities it is commit(), and so it is for one that makes, drops,
  // clears or exchanges families, or is the first to give a key of a family a lifetime.
  Result<uint64_t> commit_unsynced();
  void rollback();

  Savepoint savepoint() const;
  // Undoes what was done since. The savepoint may be used again; later ones are void. kInvalidArgument, and nothing
  // happens: it is void, or another transaction's.
  Status rollback_to(Savepoint savepoint);

  uint64_t revision() const;  // that commit() will give it
  int64_t now_ms() const;
  // What has been written, index and history included, and what was undone as well: for those who commit before it is too much
  // for one transaction.
  size_t written_bytes() const;

 private:
  using Keyspace::Keyspace;
  internal::TransactionScope* scope() const;
  bool has_ended() const;
  friend class Store;
};

// Puts and erases to be made together, collected without holding up any writer.
class WriteBatch {
 public:
  void put(std::string_view key, std::string_view value, Lifetime lifetime = {});
  void put(const Family& family, std::string_view key, std::string_view value, Lifetime lifetime = {});
  void erase(std::string_view key);
  void erase(const Family& family, std::string_view key);
  void clear() { writes_.clear(); }
  size_t size() const { return writes_.size(); }

 private:
  struct Write {
    std::optional<Family> family;  // none: the default one
    std::string key;
    std::optional<std::string> value;  // none: erase
    Lifetime lifetime;
  };
  std::vector<Write> writes_;
  friend class Store;
};

struct StoreStats {
  uint64_t last_revision = 0;     // of the newest commit
  uint64_t durable_revision = 0;  // the newest that is known to survive a power cut
  uint64_t commits = 0;           // since the store was opened, as all that follow
  uint64_t syncs = 0;
  uint64_t expired_hidden = 0;   // reads that found an expired key
  uint64_t expired_removed = 0;  // keys removed because they were due: by reads, sweeps and purges
  uint64_t file_bytes = 0;
  uint64_t free_bytes = 0;  // in the file, to be used again
  uint64_t journal_bytes = 0;
  uint64_t buffer_bytes = 0;
  int64_t unsynced_age_ms = 0;  // of the oldest commit that a power cut may take; 0: none
  int64_t oldest_snapshot_ms =
      0;                        // how long the oldest snapshot has kept space from being used again; 0: none
  bool clock_in_doubt = false;  // a leap of the clock is being watched: nothing is removed
  Status background_error;      // why writes are refused at present, if they are
};

class Store final : public Keyspace {
 public:
  // Opens or creates the store at `path`: one file, with a journal and two lock files beside it. Of several Stores on one
  // file in one process, each has its own read_only, busy_timeout, keep_waiting and sweep_per_write; all else is as the
  // first one's options say, the clock included, which must outlive them all. If that one is read_only, none can write:
  // opening another to write is kBusy.
  //   kNotFound: no store there, and create_if_missing is off (or its directory does not exist).
  //   kBusy: another process has it open; the message has its pid.
  //   kInvalidArgument: not a Lapse store, or options that make no sense. The file is untouched.
  //   kUnsupported: written by a newer Lapse. kCorrupt: damaged; the message has file and offset.
  //   kNoSpace, kIoError: as the operating system says.
  static Result<Store> open(const std::string& path, const Options& options = {});
  // Nothing outlives it. The file options are of no interest to it.
  static Result<Store> open_in_memory(const Options& options = {});
  ~Store();  // closes, if close() was not called
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // Names are 1 to 255 bytes, and do not start with "__". The default family, which the Store itself stands for, is
  // called "default"; it cannot be dropped.
  Result<Family> create_family(std::string_view name,
                               const FamilyOptions& options = {});  // kBusy if there is one
  Result<Family> family(std::string_view name) const;               // kNotFound if there is none
  // One that is there keeps its own policies, whatever `options` say: family_options() tells, set_family_options() changes them.
  Result<Family> family_or_create(std::string_view name, const FamilyOptions& options = {});
  Result<std::vector<std::string>> list_families() const;  // in name order
  // Drops it with its contents, in one small step; the space is reclaimed by later writes and purges.
  Status drop_family(std::string_view name);
  // Lifetimes that keys have stay as they are. Turning `counted` on costs a walk over the keys; rows get revisions
  // when they are next written. History that was turned off begins anew when it is turned on again.
  Status set_family_options(std::string_view name, const FamilyOptions& options);
  // Exchanges the contents and policies of two families, atomically.
  Status swap_families(std::string_view a, std::string_view b);

  // kBusy if another transaction stays open for longer than `timeout`, and at once if it is this thread's own.
  Result<Transaction> begin(std::chrono::milliseconds timeout = kForever);
  // Runs `work` in a transaction; commits if it returns ok, rolls back if it does not or throws. If `work` has ended the
  // transaction itself, there is nothing left to do.
  Status update(const std::function<Status(Transaction&)>& work);
  // Runs `work` on a snapshot.
  Status view(const std::function<Status(const Snapshot&)>& work) const;
  Status write(const WriteBatch& batch);

  Result<Snapshot> snapshot() const;
  // The store as it was at `at_ms`, as far as its families keep history; reads in others are kInvalidArgument, as is a
  // time in the future. Of the deadlines that a value was given, it shows the last: expire, touch and persist make no
  // revision.
  Result<Snapshot> snapshot_at(int64_t at_ms) const;

  // Keyspace::purge_expired for every family, one after the other; that whose keys have been due for longest comes first, so
  // that a limit starves none. Limit and budget are for all of them together.
  Result<PurgeResult> purge_all_expired(const PurgeOptions& options = {});

  // Returns when everything committed so far survives a power cut.
  Status sync();
  // Returns when the commit of this number and all before it do; those who wait together share a sync. kUnknown: the disk
  // did not confirm it; it may or may not be there after a reopen. kInvalidArgument: there is no such commit yet.
  Status wait_durable(uint64_t revision);
  // Brings everything into the tree, so that reopening has nothing to replay.
  Status checkpoint();
  // Writes a compact copy of the present state to `path`, which must not exist: a backup, or the way to give space
  // back. Deadlines, history and the numbering of revisions are as here. Nothing waits for it.
  Status compact_to(const std::string& path) const;
  // Reads everything and checks it: the file, and that rows, expiry entries, history and counts agree.
  // kCorrupt says what is wrong where.
  Status verify() const;
  StoreStats stats() const;
  // How far the way of commits into the tree is behind those who write, in write buffers. 0: it keeps up. From 0.5 on
  // commits have to help, and take longer: what can as well be written later had better wait. Costs nothing.
  double backlog() const;
  // What the store's clock says.
  int64_t now_ms() const;
  // Syncs and releases the files. Every later call of this handle is kUnavailable. Its snapshots and iterators go on reading,
  // and keep the files until they are gone; a transaction that is open can be committed only if another Store is on the
  // file. The error is of interest: the destructor has nobody to tell.
  Status close();

 private:
  using Keyspace::Keyspace;
  friend class internal::StoreOpener;
};

}  // namespace lapse
