// Keys can be worked with in many places: in a store, in a family, in a transaction, where history is kept or keys are
// counted. Every call must do the same in each of them, and tests over EveryPlace say so.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "test_stores.h"

namespace lapse {

struct Place {
  std::string name;
  bool in_family = false;
  bool in_transaction = false;
  FamilyOptions options;
};

inline std::vector<Place> places() {
  const FamilyOptions plain;
  FamilyOptions past;
  past.history = HistoryPolicy{};
  FamilyOptions counted;
  counted.counted = true;
  return {{"Store", false, false, plain},          {"Family", true, false, plain},
          {"PastFamily", true, false, past},       {"CountedFamily", true, false, counted},
          {"Transaction", false, true, plain},     {"FamilyInTransaction", true, true, plain},
          {"PastInTransaction", true, true, past}, {"CountedInTransaction", true, true, counted}};
}
inline void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

class EveryPlace : public StoreTest, public testing::WithParamInterface<Place> {
 protected:
  EveryPlace() {
    if (GetParam().in_family) family_ = std::make_unique<Family>(family("place", GetParam().options));
    begin();
  }

  // Where the keys are.
  Keyspace& here() { return *here_; }
  bool has_history() const { return GetParam().options.history.has_value(); }

  // Lets time go by. (A transaction has its own time, so this commits it and begins another.)
  void pass(std::chrono::milliseconds time) {
    commit();
    clock_.advance(time.count());
    begin();
  }

  void commit() {
    if (!transaction_) return;
    here_.reset();
    must(transaction_->commit());
    transaction_.reset();
  }

  void TearDown() override {
    commit();
    EXPECT_OK(store().verify());
    StoreTest::TearDown();
  }

 private:
  void begin() {
    if (GetParam().in_transaction) {
      transaction_ = std::make_unique<Transaction>(must(store().begin()));
      here_ = std::make_unique<Keyspace>(family_ ? static_cast<Keyspace>(transaction_->in(*family_))
                                                 : static_cast<Keyspace>(*transaction_));
    } else {
      here_ = std::make_unique<Keyspace>(family_ ? static_cast<Keyspace>(*family_)
                                                 : static_cast<Keyspace>(store()));
    }
  }

  std::unique_ptr<Family> family_;
  std::unique_ptr<Transaction> transaction_;
  std::unique_ptr<Keyspace> here_;
};

#define INSTANTIATE_PLACE_TESTS(suite)                                         \
  INSTANTIATE_TEST_SUITE_P(Every, suite, testing::ValuesIn(::lapse::places()), \
                           [](const auto& each) { return each.param.name; })

}  // namespace lapse
