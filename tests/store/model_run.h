// A store and the model, taken through the same steps. A difference is an exception that says what each of them said.
//
// What only the store knows is learnt from it, and checked to be allowed: which due keys it has removed so far (by a
// clock set back to 0, at which everything that is stored can be seen), and how many commits there were.

#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "model.h"
#include "model_words.h"
#include "test_stores.h"

namespace lapse {

// One step, as numbers that a generator can make up and shrink. What they mean is up to the kind.
struct ModelOp {
  int kind = 0;
  int family = 0;
  int key = 0;
  int a = 0;
  int b = 0;

  static int kinds();  // how many different ones; the frequent ones have several numbers
  static constexpr int kMaxNumber = 1'000;
};
std::ostream& operator<<(std::ostream& out, const ModelOp& op);

class ModelRun {
 public:
  // Compares everything after each `compare_every` steps.
  ModelRun(const StoreConfig& config, int compare_every);

  void step(const ModelOp& op);
  void finish();

 private:
  // Where an operation is made: in the store or the transaction, and beside it in the model.
  struct Target {
    ModelRun* run;
    std::string name;
    lapse::Family keyspace;
    model::Family* family;
    model::Moment at;

    // Both have done it: what did they say? And if it was a transaction of its own, what else happened?
    void done(const std::string& what, const std::string& model, const std::string& store) {
      expect(name + ": " + what, model, store);
      if (!run->open_) run->catch_up(at);
    }
  };
  struct Sweep {  // what a transaction has swept so far
    std::set<std::string> families;
    uint64_t removed = 0;
  };
  struct Open {  // a transaction and what it should see
    Transaction transaction;
    model::State state;
    model::Moment at;
    std::vector<std::pair<Savepoint, model::State>> savepoints;
    Sweep sweep;
  };
  struct Kept {  // a snapshot and what it should see
    Snapshot snapshot;
    model::State state;
    int64_t now_ms;
  };
  friend struct ModelKinds;

  void open();
  void close();
  model::Moment next_moment();
  Target target(const ModelOp& op);
  // The same, for an operation that writes: the first one in a family also sweeps there.
  Target writing_target(const ModelOp& op);
  void sweep(Sweep* sweep, const std::string& name, model::Family* family, const model::Moment& at);
  // Nothing, if the clock has gone back since the transaction began.
  uint64_t remove_due(model::Family* family, uint64_t limit, const model::Moment& at);

  // Operations on keys, in a family.
  void write_key(const ModelOp& op);
  void compare_key(const ModelOp& op);
  void compute_key(const ModelOp& op);
  void erase_keys(const ModelOp& op);
  void change_lifetime(const ModelOp& op);
  void touch(const ModelOp& op);
  void restore(const ModelOp& op);
  void purge(const ModelOp& op);
  void purge_history(const ModelOp& op);
  void read_key(const ModelOp& op);
  void clear(const ModelOp& op);
  // Others.
  void purge_all(const ModelOp& op);
  void write_batch(const ModelOp& op);
  void begin(const ModelOp& op);
  void commit(const ModelOp& op);
  void roll_back(const ModelOp& op);
  void set_savepoint(const ModelOp& op);
  void roll_back_to(const ModelOp& op);
  void failed_update(const ModelOp& op);
  void take_snapshot(const ModelOp& op);
  void run_clock(const ModelOp& op);
  void leap(const ModelOp& op);
  void go_back(const ModelOp& op);
  void make_family_anew(const ModelOp& op);
  void change_policies(const ModelOp& op);
  void swap_families(const ModelOp& op);
  void reopen(const ModelOp& op);
  void checkpoint(const ModelOp& op);
  void compare_copy(const ModelOp& op);
  void verify(const ModelOp& op);

  void catch_up(const model::Moment& at);
  int64_t remembered_time();
  void compare_everything(int salt);
  void compare(const std::string& name, const Reader& reader, const model::Family& family, int64_t now_ms);
  void compare_history(const std::string& what, const Reader& reader, const model::Family& family,
                       const std::string& key, int64_t now_ms);
  void compare_past(const std::string& name, const Reader& reader, const model::Family& family,
                    int64_t now_ms, int salt);

  TempDir dir_;
  ManualClock clock_{1'000};
  bool memory_;
  Options options_;
  std::optional<Store> store_;
  const int compare_every_;
  int steps_ = 0;

  model::State state_;              // what is committed
  uint64_t last_revision_ = 0;      // the number of the latest commit
  int64_t last_written_at_ms_ = 0;  // and its date
  std::unique_ptr<Open> open_;
  std::vector<Kept> kept_;
};

}  // namespace lapse
