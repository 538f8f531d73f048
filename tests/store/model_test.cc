// The store beside the model: thousands of random steps a seed, and the shortest sequence that still fails, if one
// does.
//
// LAPSE_SEED=… repeats a run; LAPSE_STEPS=… makes its sequences longer or shorter. A failure ends with the steps, each
// with its numbers in braces, which can be put into AFailureFoundBefore.

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
                               gen::set(&ModelOp::family, gen::inRange(0, 6)), gen::set(&ModelOp::key, gen::inRange(0, 6)),
                               gen::set(&ModelOp::a, number), gen::set(&ModelOp::b, number));
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
  const auto result = rc::detail::checkTestable([this](const std::vector<ModelOp>& ops) { run(ops); },
                                                rc::detail::TestMetadata(), params);
  rc::detail::SuccessResult success;
  if (result.match(success)) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ADD_FAILURE() << text.str();
}

}  // namespace
}  // namespace lapse
