// The engine contract: one ordered map of bytes, with snapshots, transactions and cursors.
//
//   LAPSE_TRY_ASSIGN(auto engine, open_local("my.db", {}));
//   LAPSE_TRY_ASSIGN(auto transaction, engine->begin());
//   LAPSE_TRY(transaction->put("key", "value"));
//   LAPSE_TRY_ASSIGN(uint64_t sequence, transaction->commit());
//   LAPSE_TRY_ASSIGN(auto snapshot, engine->snapshot());
//   LAPSE_TRY_ASSIGN(auto value, snapshot->get("key"));   // std::optional<std::string_view>
//
// It is kept small so that another engine stays cheap to write, and it knows nothing of lifetimes,
// families or history: those are key ranges that the store lays out on top.
//
// What holds for every engine (the conformance suite says so):
//  - Keys are compared as unsigned bytes; the empty key and the empty value are ordinary.
//  - Commits are totally ordered and numbered, 1, 2, 3, …; a transaction that wrote nothing takes no
//    number. A snapshot is the state right after one of them: all of it, and nothing later.
//  - A commit() that returned ok is in every snapshot taken afterwards. A commit that failed with
//    anything but kUnknown left no trace.
//  - Readers never wait for a writer. There is one writer at a time.
//  - Absence is std::nullopt or !valid(); a Status that is not ok means that the answer is not known.
//
// Threads: an Engine and a Snapshot may be used by any number of threads at once; a Transaction and a
// Cursor by one at a time, not necessarily always the same one. Snapshots and transactions keep what they
// need alive, cursors do not: what they go over must outlive them. Destroy all before you wait for the store's files to be free.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lapse/status.h"

namespace lapse::engine {

inline constexpr size_t kMaxKeyBytes = 160 << 10;    // the store's 64 KiB, prefixed and escaped
inline constexpr size_t kMaxValueBytes = 1UL << 30;  // 1 GiB

// The keys from `from` on that are before `to`; none: to the end.
struct Range {
  std::string from;
  std::optional<std::string> to;
};

// Walks the entries of one Reader in key order. It is born without a position: !valid().
//
// A cursor over a range finds those entries and no others: first() and last() are the range's own, and a seek() to before
// it goes to its first. No move walks over what lies outside, which engines may have to do one by one where entries were
// erased a moment ago. But that the range has come to its end is only known from the entry there, which is read and checked
// like any other: if it is damaged, a key of the range may have become that one.
//
// A failed move (kCorrupt: the entry there is damaged) leaves the cursor without a position.
// Over a transaction, a cursor sees what was written through that transaction up to its latest move.
class Cursor {
 public:
  virtual ~Cursor() = default;

  virtual Status seek(std::string_view key) = 0;  // to the first entry at or after key
  virtual Status first() = 0;
  virtual Status last() = 0;
  virtual Status next() = 0;  // REQUIRES: valid()
  virtual Status prev() = 0;  // REQUIRES: valid()

  virtual bool valid() const = 0;
  // REQUIRES: valid(). Both stay as they are until the cursor moves or goes, or, over a transaction,
  // until the transaction's next write.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
};

class Reader {
 public:
  virtual ~Reader() = default;

  // The value, or nothing if the key is absent. kTooLarge if no such key can exist.
  // The bytes stay valid while a Snapshot lives, or until a Transaction's next write or its end.
  virtual Result<std::optional<std::string_view>> get(std::string_view key) const = 0;

  // A hint: these keys will be read or written soon. Whatever has to come from memory for that comes for all of them at
  // once, where one get() after the other would wait for each.
  virtual void expect(std::span<const std::string_view> /*keys*/) const {}

  // The reader must outlive its cursors.
  virtual std::unique_ptr<Cursor> cursor(Range range) const = 0;
  std::unique_ptr<Cursor> cursor() const { return cursor(Range()); }

  // About how many entries have keys in [from, to), at a cost that does not grow with them; exact for a few, unless
  // thousands beside them have just been erased.
  virtual Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const = 0;
};

// A consistent view of one moment. It costs no copy, but space that later commits free is kept until
// it goes: do not keep one for days.
class Snapshot : public Reader {
 public:
  // The number of the last commit it sees.
  virtual uint64_t sequence() const = 0;
};

// Marks a place in a transaction to come back to. Only good for the transaction that made it; Savepoint() is the
// beginning of any.
struct Savepoint {
  size_t writes = 0;        // so many stood before it,
  uint64_t last_write = 0;  // and this was the last of them: no other write in the process has its number
};

// Reads see the latest commit, and this transaction's own writes over it. Dropping a transaction
// rolls it back. After commit() or a failed commit() every call but the destructor is
// kInvalidArgument.
class Transaction : public Reader {
 public:
  // As get(), but without this transaction's own writes.
  virtual Result<std::optional<std::string_view>> get_committed(std::string_view key) const = 0;

  // kTooLarge: key or value is over the limits above, or the whole transaction over the engine's.
  // The transaction stays as it was, and usable.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  // Erasing what is not there is no error.
  virtual Status erase(std::string_view key) = 0;
  // As put(), for what a commit adds to the writes of others: so many bytes of key and value find room in any transaction, though
  // these had filled it.
  static constexpr size_t kReservedBytes = 64;
  virtual Status put_reserved(std::string_view key, std::string_view value) = 0;

  virtual Savepoint savepoint() const = 0;
  // Undoes every write since. Later savepoints are void; this one may be used again. kInvalidArgument: it is void, or
  // another transaction's; nothing happened.
  virtual Status rollback_to(Savepoint savepoint) = 0;

  // The number that commit() will give it, if it writes anything.
  virtual uint64_t sequence() const = 0;

  // Makes the writes visible, all at once, and as durable as the engine was asked to be. Returns the
  // commit's number (of the latest commit, if this one wrote nothing).
  //   kNoSpace, kIoError: nothing happened.
  //   kUnknown: the writes were made, but the disk did not confirm them: they may or may not be there
  //   after a reopen. The engine accepts no further write until then.
  //   kConflict (distributed engines): nothing happened; run the transaction again.
  virtual Result<uint64_t> commit() = 0;

  // As commit(), but where that would wait for the disk to confirm it, this only lets the disk go to work: it is durable,
  // and where only what is durable is shown, visible, when wait_durable(its number) has returned, or a later commit().
  virtual Result<uint64_t> commit_unsynced() = 0;

  // For writes that can as well be made another time: as commit_unsynced(), but it never waits for the disk or for anyone, and
  // never moves other commits on. kBusy: it would have had to; nothing happened, and the transaction is still open.
  virtual Result<uint64_t> commit_without_waiting() = 0;
};

struct EngineStats {
  uint64_t last_sequence = 0;     // of the newest commit
  uint64_t visible_sequence = 0;  // what snapshots see
  uint64_t durable_sequence = 0;  // known to survive a power cut
  uint64_t drained_sequence = 0;  // in the tree; the rest is in the write buffers and the journal

  uint64_t entries_in_tree = 0;  // rows, as of the last drain
  uint64_t tree_file_bytes = 0;
  uint64_t tree_free_bytes = 0;  // inside the file, to be used again
  uint64_t journal_bytes = 0;    // all files, spare ones included
  uint64_t journal_files = 0;
  uint64_t buffer_bytes = 0;  // the active and the frozen one
  uint64_t buffer_entries = 0;

  uint64_t commits = 0;
  uint64_t syncs = 0;  // of the journal; commits that shared one count once
  uint64_t drains = 0;
  uint64_t drain_slices = 0;
  uint64_t longest_slice_us = 0;
  uint64_t drain_us = 0;  // all slices together

  int64_t unsynced_age_ms = 0;     // of the oldest commit that a power cut may take; 0: none
  int64_t oldest_snapshot_ms = 0;  // since the oldest live snapshot was overtaken by a drain; 0: none
  uint64_t held_snapshots = 0;     // drained states that live snapshots keep from being reclaimed
  Status background_error;         // why drains or writes are refused at present, if they are
};

// How long begin() may wait. kForever still gives kBusy to a thread that would wait for itself.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

class Engine {
 public:
  virtual ~Engine() = default;  // closes, if close() was not called

  virtual Result<std::unique_ptr<Snapshot>> snapshot() = 0;

  // Waits for the writer's place, at most `timeout`, then kBusy. A thread whose own transaction holds
  // that place gets kBusy at once instead of a deadlock; a transaction belongs to the thread that used
  // it last. kReadOnly, or the error that stopped the engine, if there can be no writer.
  virtual Result<std::unique_ptr<Transaction>> begin(std::chrono::milliseconds timeout = kForever) = 0;

  // Returns when commit `sequence` and all before it survive a power cut. Calls that wait together
  // share one sync. kInvalidArgument for a commit that has not happened.
  virtual Status wait_durable(uint64_t sequence) = 0;
  // wait_durable for the newest commit.
  virtual Status sync() = 0;
  // Brings everything committed so far into the tree, so that reopening has nothing to replay.
  virtual Status checkpoint() = 0;

  // Writes a compact copy of the state as of now to `path`, which must not exist: a backup, or the way
  // to give space back. Nothing waits for it. Numbering goes on in the copy where it stands here.
  virtual Status compact_to(const std::string& path) = 0;

  // Reads everything and checks it: each entry, the order of keys, the number of entries and the sum
  // of their checksums, that no page is used twice. kCorrupt says what is wrong where.
  virtual Status verify() = 0;

  virtual EngineStats stats() = 0;

  // How far drains are behind the writers, in write buffers; 0: they keep up. For those who could as well write later,
  // before commits have to wait. Costs nothing.
  virtual double backlog() = 0;

  // What all handles on one store in this process share above the engine: made by the first that asks, and kept as
  // long as one of them is open. It must not hold a handle itself.
  virtual std::shared_ptr<void> shared_state(const std::function<std::shared_ptr<void>()>& make) = 0;

  // Syncs and releases the files. Every later call is kUnavailable. The error, if there is one, is of
  // interest: the destructor has nobody to tell.
  virtual Status close() = 0;
};

}  // namespace lapse::engine
