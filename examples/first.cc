// Opens a store, writes two keys together, and walks over what is there.
#include <iostream>

#include "base/try.h"
#include "engine/local/local_engine.h"

lapse::Status greet() {
  LAPSE_TRY_ASSIGN(auto store, lapse::engine::open_local("first.db", {}));

  LAPSE_TRY_ASSIGN(auto transaction, store->begin());
  LAPSE_TRY(transaction->put("greeting", "hello"));
  LAPSE_TRY(transaction->put("planet", "world"));
  LAPSE_TRY(transaction->commit());  // both or neither; kill -9 no longer takes them away

  LAPSE_TRY_ASSIGN(auto snapshot, store->snapshot());  // later commits do not change it
  LAPSE_TRY_ASSIGN(auto planet, snapshot->get("planet"));
  std::cout << planet.value_or("no planet") << "\n";

  auto cursor = snapshot->cursor();
  LAPSE_TRY(cursor->first());
  while (cursor->valid()) {
    std::cout << cursor->key() << " = " << cursor->value() << "\n";
    LAPSE_TRY(cursor->next());
  }
  return {};
}

int main() {
  const lapse::Status status = greet();
  if (!status.ok()) std::cerr << status.to_string() << "\n";
  return status.ok() ? 0 : 1;
}
