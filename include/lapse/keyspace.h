// Reader and Keyspace: everything that can be done with keys.
//
// A Store is the Keyspace of its default family, a Family that of another, a Transaction one whose calls take
// effect together; a Snapshot is a Reader. So each call below reads the same wherever it is made:
//
//   store.put("k", "v", 30s);              // the default family, a transaction of its own
//   sessions.put("k", "v", 30s);           // another family
//   transaction.put("k", "v", 30s);        // when the transaction commits
//   transaction.in(sessions).put("k", "v", 30s);
//
// What holds for all of them:
//  - A key is visible at time t if and only if t < its deadline. One clock reading decides, taken when the call
//    begins (of a write, when it has the writer's place; of one in batches, for each of them), or when its transaction,
//    snapshot or iterator did.
//  - Absence is an answer: std::nullopt, or false. A Status that is not ok means that nothing was changed, and says
//    what was wrong: kInvalidArgument (bad input), kTooLarge (over a limit), kBusy (another transaction is open and
//    busy_timeout has passed), kReadOnly, kNoSpace, kIoError, kCorrupt, kUnavailable (closed), kNotFound (the family has
//    been dropped). There are two exceptions. kUnknown: the disk did not confirm the change, and after a reopen it is
//    there as a whole or not at all. And calls that work in batches (erase_prefix, erase_range, and all that purge),
//    outside of a transaction: the batch that failed changed nothing, those before it stay done.
//  - Keys are up to 64 KiB, values up to 1 GiB less 1,024 bytes (kMaxValueBytes), any bytes; the empty key and the empty
//    value are ordinary.
//  - Any thread may call, at any time. A Transaction is for one thread at a time.
//
// A read that meets an expired key also removes it, in a transaction of its own, if the writer is free at that
// moment: it never waits, and never touches a transaction that is open. Hidden it is in any case.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lapse/iterator.h"
#include "lapse/lifetime.h"
#include "lapse/options.h"
#include "lapse/status.h"

namespace lapse {

namespace internal {
class Scope;
class Family;
class ReadView;
}  // namespace internal

struct Entry {
  std::string value;
  int64_t deadline_ms = kNever;
  std::chrono::milliseconds left = kForever;  // until then
  uint64_t revision = 0;                      // both 0 in a family without revisions
  int64_t written_at_ms = 0;
};

enum class Ending { kNone, kOverwritten, kErased, kExpired };

// One value that a key had. It was visible from written_at_ms until ended_at_ms.
struct Revision {
  std::string value;
  uint64_t revision = 0;  // 0 for what was written before the family had history or revisions
  int64_t written_at_ms = 0;
  int64_t ended_at_ms = kNever;  // kNever: still visible
  Ending ending = Ending::kNone;
  int64_t deadline_ms = kNever;
};

struct Expiring {
  std::string key;
  int64_t deadline_ms;
};

class Reader {
 public:
  Result<std::optional<std::string>> get(std::string_view key) const;
  // The value with its time left and its revision, in one read.
  Result<std::optional<Entry>> get_entry(std::string_view key) const;
  // In the order of `keys`, all of one moment.
  Result<std::vector<std::optional<std::string>>> multi_get(std::span<const std::string_view> keys) const;
  Result<bool> exists(std::string_view key) const;
  // A hint, without effect but on speed: these keys will be read or written next, one by one. What lies in main memory
  // is then fetched for all of them at once. multi_get(), multi_put() and purges do so by themselves.
  void expect(std::span<const std::string_view> keys) const;

  // The time left: kForever for a permanent key.
  Result<std::optional<std::chrono::milliseconds>> ttl(std::string_view key) const;
  // kNever for a permanent key.
  Result<std::optional<int64_t>> deadline_of(std::string_view key) const;
  // Whether the key is past its deadline and has not been removed yet. For every other call it is absent; this one is
  // for those who have to tell "expired" from "never there", as long as that can be told. It removes nothing.
  Result<bool> lapsed(std::string_view key) const;

  Result<Iterator> iterate(const IterateOptions& options = {}) const;

  // The keys whose deadlines lie in [from_ms, to_ms), soonest first, at most `limit`. Those that have passed are
  // not among them. Of the present only, as lapsed() and forecast() are: kInvalidArgument on a snapshot_at().
  Result<std::vector<Expiring>> expiring(int64_t from_ms, int64_t to_ms,
                                         size_t limit = std::numeric_limits<size_t>::max()) const;
  // The same one by one, until `visit` says false: for more than there may be room for. It must not write.
  Status for_each_expiring(int64_t from_ms, int64_t to_ms,
                           const std::function<bool(const Expiring&)>& visit) const;
  // How many keys end in each of the next `buckets` stretches of `width`: the first is [now, now + width).
  // Costs as much as there are keys that do. At most a million buckets.
  Result<std::vector<uint64_t>> forecast(std::chrono::milliseconds width, size_t buckets) const;
  // When to purge next: no key that is stored, as the latest commit has left it, has an earlier deadline, those that are due
  // included. kNever: none has any.
  // As a rule it is known, and costs a comparison. It may be too early, by a key that is gone or has been given more
  // time since; a purge at that time makes it exact again.
  Result<int64_t> next_deadline() const;

  // Exact. Walks over the keys; in a `counted` family only over those that are due and not removed yet.
  Result<uint64_t> count() const;
  // About as many, at a cost that does not grow with them. Keys that are due count until they are removed. Of the past
  // nobody knows without counting: kInvalidArgument on a snapshot_at().
  Result<uint64_t> estimated_count() const;

  // History, in families that keep it; elsewhere kInvalidArgument, as for a time in the future.
  //
  // The value that was visible at `at_ms`. Lifetimes count as they did then: at its deadline a value ended, however
  // late it was removed. What a transaction writes is dated at its beginning: while one is open, what is said about the time
  // since then may change when it commits.
  Result<std::optional<std::string>> get_at(std::string_view key, int64_t at_ms) const;
  // The value that commit `revision` wrote, visible or not.
  Result<std::optional<Revision>> get_revision(std::string_view key, uint64_t revision) const;
  // Every revision kept, newest first, the present one included. On a snapshot_at() both show what was known then: nothing
  // that was written later, and nothing as ended that had not.
  Result<std::vector<Revision>> history(std::string_view key) const;
  // The same one by one, until `visit` says false: for more than there may be room for. It must not write.
  Status for_each_revision(std::string_view key, const std::function<bool(const Revision&)>& visit) const;

  // The family's name and policies.
  std::string family_name() const;
  Result<FamilyOptions> family_options() const;

 protected:
  Reader(std::shared_ptr<internal::Scope> scope, std::shared_ptr<internal::Family> family);

  Result<internal::ReadView> read_history(int64_t at_ms) const;

  std::shared_ptr<internal::Scope> scope_;
  std::shared_ptr<internal::Family> family_;

  friend class Store;
  friend class Snapshot;
  friend class Transaction;
  friend class WriteBatch;
};

using KeyValue = std::pair<std::string_view, std::string_view>;

struct IncrementOptions {
  Lifetime lifetime = {};  // of a key that is created by this; one that is there keeps its own
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};

struct Increment {
  int64_t value;  // what the key holds now
  bool applied;   // false: it would have left the bounds, so nothing was changed
};

struct TouchOptions {
  std::chrono::milliseconds if_left_below = kForever;  // renews only what has less than this left
  int64_t not_past_ms = kNever;  // never sets a deadline beyond this; one that has passed ends the key now
};

// For expire(): sets the new deadline only if the key has none, or has any, or if the new one is later, or sooner, than
// the present one. No deadline is later than any.
enum class Only { kAlways, kIfNone, kIfAny, kIfLater, kIfSooner };

struct RemovedKey {
  std::string_view family;
  std::string_view key;
  int64_t deadline_ms;
};

struct PurgeOptions {
  uint64_t limit = std::numeric_limits<uint64_t>::max();
  std::chrono::milliseconds budget = kForever;  // stops after the batch in which this much time has passed
  // Told of each key that went, in the order of their deadlines (in purge_all_expired(), within each family): outside of a
  // transaction when the batch has been committed, inside when the call has done its work; only a rollback undoes it then.
  // It may call the store, and the transaction.
  std::function<void(const RemovedKey&)> removed = {};
};

struct PurgeResult {
  uint64_t removed = 0;
  bool more_due = false;
};

class Keyspace : public Reader {
 public:
  // Writes, whatever was there. Without a lifetime the key becomes permanent (or takes the family's default),
  // whatever lifetime it had.
  Status put(std::string_view key, std::string_view value, Lifetime lifetime = {});
  // All or nothing.
  Status multi_put(std::span<const KeyValue> entries, Lifetime lifetime = {});

  // Whether it was absent, and so has been written.
  Result<bool> put_if_absent(std::string_view key, std::string_view value, Lifetime lifetime = {});
  // Whether the key held exactly `expected`, and so has been written. An absent key never matches.
  Result<bool> compare_and_set(std::string_view key, std::string_view expected, std::string_view value,
                               Lifetime lifetime = {});
  Result<bool> compare_and_erase(std::string_view key, std::string_view expected);
  // The same by revision, in families that have them.
  Result<bool> compare_and_set_revision(std::string_view key, uint64_t expected, std::string_view value,
                                        Lifetime lifetime = {});
  Result<bool> compare_and_erase_revision(std::string_view key, uint64_t expected);

  // The value before.
  Result<std::optional<std::string>> get_and_set(std::string_view key, std::string_view value,
                                                 Lifetime lifetime = {});
  Result<std::optional<std::string>> get_and_erase(std::string_view key);

  // Adds to a decimal integer; an absent key counts as 0. kInvalidArgument if the value is no integer, or the sum
  // is beyond 64 bits.
  Result<Increment> increment(std::string_view key, int64_t by = 1, const IncrementOptions& options = {});
  // Adds to the end of the value, which keeps its lifetime; `lifetime` is for a key that is created by this.
  // Returns the new length.
  Result<uint64_t> append(std::string_view key, std::string_view suffix, Lifetime lifetime = {});

  // Whether it was there.
  Result<bool> erase(std::string_view key);
  // How many were there. A range is [from, to). Outside of a transaction they work in batches, each a transaction
  // of its own, and let other writers in between; inside, they are as atomic as it is.
  Result<uint64_t> erase_prefix(std::string_view prefix);
  Result<uint64_t> erase_range(std::string_view from, std::string_view to);
  // Forgets everything, history included, in one small step; the space is reclaimed by later writes and purges.
  Status clear();

  // Reads, and gives the key `ttl` from now on: for sessions that live as long as they are used. A permanent key
  // stays so. Where nothing needs to be renewed, this is a plain read.
  Result<std::optional<Entry>> touch(std::string_view key, Ttl ttl, const TouchOptions& options = {});
  // Changes the deadline, not the value: no new revision. Whether it did; an absent key has none to change. A
  // deadline that has passed already ends the key now.
  Result<bool> expire(std::string_view key, Ttl ttl, Only only = Only::kAlways);
  Result<bool> expire_at(std::string_view key, int64_t deadline_ms, Only only = Only::kAlways);
  // Makes it permanent. Whether it was there and had a deadline. A family's policies count here, too: with `max_ttl` the key
  // gets that from now on, with `require_ttl` the call is kInvalidArgument.
  Result<bool> persist(std::string_view key);

  // Removes what is due, oldest deadline first, at a cost that grows with what is removed and not with what is
  // there. 256 keys a transaction, other writers let in between; inside a transaction, all in that one. Does nothing
  // while the clock is in doubt, nor in a transaction that began before the clock went back: then nothing counts as due.
  Result<PurgeResult> purge_expired(const PurgeOptions& options = {});
  // Trims the history of every key by the family's policy (of a family whose history was turned off: removes it).
  // Returns how many revisions went.
  Result<uint64_t> purge_history();

  // Writes the value that was visible at `at_ms` again, as a new revision: undoes an erase, or goes back. False, and
  // nothing changed, if there was none.
  Result<bool> restore(std::string_view key, int64_t at_ms, Lifetime lifetime = {});

 protected:
  using Reader::Reader;

  friend class Transaction;
};

}  // namespace lapse
