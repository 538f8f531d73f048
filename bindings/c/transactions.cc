// Transactions: one at a time per handle.

#include "bindings/c/call.h"

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_begin(KVStore* kv, int write) {
  return on_store(kv, [&](Handle& handle) { return handle.begin(write != 0); });
}

int kvstore_commit(KVStore* kv) {
  return on_store(kv, [&](Handle& handle) { return handle.commit(); });
}

int kvstore_rollback(KVStore* kv) {
  return on_store(kv, [&](Handle& handle) { return handle.rollback(); });
}

}  // extern "C"
