// The store beside the model: thousands of random steps a seed, and the shortest sequence that still fails, if one
// does.
//
// LAPSE_SEED=… repeats a run (the seed that RapidCheck announces is not the one in use); LAPSE_STEPS=… makes its
// sequences longer or shorter. A failure ends with the steps, each with its numbers in braces, as
// AgreesWhereItOnceDidNot takes them.

#include <rapidcheck.h>
#include <rapidcheck/detail/TestParams.h>

#include <cstdlib>
#include <iostream>

#include "model_run.h"

namespace lapse {

void showValue(const ModelOp& op, std::ostream& out) { out << op << "\n"; }

}  // namespace lapse

namespace rc {

template <>
struct Arbitrary<lapse::ModelOp> {
  static Gen<lapse::ModelOp> arbitrary() {
    using lapse::ModelOp;
    const auto number = gen::inRange(0, ModelOp::kMaxNumber);
    return gen::build<ModelOp>(gen::set(&ModelOp::kind, gen::inRange(0, ModelOp::kinds())),
                               gen::set(&ModelOp::family, gen::inRange(0, 7)),
                               gen::set(&ModelOp::key, gen::inRange(0, 6)), gen::set(&ModelOp::a, number),
                               gen::set(&ModelOp::b, number));
  }
};

}  // namespace rc

namespace lapse {
namespace {

std::vector<StoreConfig> model_configs() {
  StoreConfig small = file_config();
  small.name = "FileSmall";
  small.options.buffer_bytes = 4 << 10;
  StoreConfig sweeping = memory_config();
  sweeping.name = "MemorySweeping";
  sweeping.options.sweep_per_write = 2;
  return {memory_config(), small, sweeping};
}

class Model : public testing::TestWithParam<StoreConfig> {
 protected:
  void run(const std::vector<ModelOp>& ops) {
    ModelRun model(GetParam(), ops.size() > 50 ? 4 : 1);
    for (const ModelOp& op : ops) model.step(op);
    model.finish();
  }
};
INSTANTIATE_TEST_SUITE_P(Every, Model, testing::ValuesIn(model_configs()), store_config_name);

TEST_P(Model, CannotBeToldFromTheStore) {
  const char* given = std::getenv("LAPSE_STEPS");
  rc::detail::TestParams params;
  params.seed = Random().seed();
  params.maxSuccess = 12;
  params.maxSize = given ? std::atoi(given) : 1'000;  // steps in the longest sequence
  bool failed = false;
  const auto run_and_tell = [&](const std::vector<ModelOp>& ops) {
    try {
      run(ops);
    } catch (const std::exception& error) {
      // Told at once: the search for a shorter sequence may take longer than the test is given.
      if (!std::exchange(failed, true))
        std::cout << ops.size() << " steps fail: " << error.what() << std::endl;
      throw;
    }
  };
  const auto result = rc::detail::checkTestable(run_and_tell, rc::detail::TestMetadata(), params);
  rc::detail::SuccessResult success;
  if (result.match(success)) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ADD_FAILURE() << text.str();
}

// Sequences that failed once, each for a reason of its own.
TEST_P(Model, AgreesWhereItOnceDidNot) {
  const std::vector<std::vector<ModelOp>> sequences = {
      // Erased and written again in one transaction.
      {{0, 1, 2, 0, 0}, {73, 0, 0, 0, 0}, {32, 1, 2, 0, 0}, {0, 1, 2, 0, 0}},
      // A purge that swept first, and did not count what it swept.
      {{0, 0, 0, 13, 0}, {64, 0, 0, 0, 1}},
      {{0, 5, 0, 404, 0}, {95, 0, 0, 0, 0}, {73, 0, 0, 0, 0}, {0, 5, 1, 0, 0}, {64, 5, 0, 3, 0}},
      // A clock that went back behind the last second before a reopen.
      {{95, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {115, 0, 0, 0, 0}, {109, 0, 0, 1, 0}},
      // A transaction of which nothing was left to commit, and which dated later ones by its reading all the same.
      {{95, 0, 0, 0, 0},
       {73, 0, 0, 0, 0},
       {109, 0, 0, 1, 0},
       {85, 0, 0, 0, 0},
       {0, 0, 0, 0, 0},
       {89, 0, 0, 0, 0},
       {79, 0, 0, 0, 0},
       {0, 1, 0, 0, 0}},
  };
  for (const auto& sequence : sequences) EXPECT_NO_THROW(run(sequence));
}

}  // namespace
}  // namespace lapse
