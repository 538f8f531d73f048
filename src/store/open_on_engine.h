// A store on an engine that is open already: how Store::open() ends, and how tests put an engine of their own under it.

#pragma once

#include <memory>

#include "engine/engine.h"
#include "lapse/store.h"

namespace lapse::internal {

class StoreOpener {
 public:
  static Result<Store> open(std::unique_ptr<engine::Engine> engine, const Options& options);
};

}  // namespace lapse::internal

namespace lapse {

inline Result<Store> open_on_engine(std::unique_ptr<engine::Engine> engine, const Options& options) {
  return internal::StoreOpener::open(std::move(engine), options);
}

}  // namespace lapse
