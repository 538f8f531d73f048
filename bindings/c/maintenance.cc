// Counters, checks, syncs and checkpoints.

#include <string>

#include "bindings/c/call.h"

namespace lapse::c {

namespace {

constexpr uint64_t kPageBytes = 4096;  // what the interface counts in; LMDB's page as well

uint64_t pages(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; }

}  // namespace

}  // namespace lapse::c

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_stats(KVStore* kv, KVStoreStats* stats) {
  clear_outputs(stats);
  return on_store(kv, [&](Handle& handle) -> Outcome {
    KVSTORE_TRY(check_given(stats, "stats"));
    const Counters& counters = handle.counters();
    const lapse::StoreStats store = handle.store().stats();
    stats->nPuts = counters.puts;
    stats->nGets = counters.gets;
    stats->nDeletes = counters.deletes;
    stats->nIterations = counters.iterations;
    stats->nErrors = counters.errors;
    stats->nBytesRead = counters.bytes_read;
    stats->nBytesWritten = counters.bytes_written;
    stats->nWalCommits = store.commits - counters.commits_before;
    stats->nCheckpoints = counters.checkpoints;
    stats->nTtlExpired = store.expired_hidden - counters.expired_before;
    stats->nTtlPurged = counters.purged;
    stats->nDbPages = pages(store.file_bytes);
    return {};
  });
}

int kvstore_stats_reset(KVStore* kv) {
  return on_store(kv, [](Handle& handle) -> Outcome {
    handle.reset_counters();
    return {};
  });
}

int kvstore_integrity_check(KVStore* kv, char** message) {
  clear_outputs(message);
  return on_store(kv, [&](Handle& handle) -> Outcome {
    const lapse::Status verified = handle.store().verify();
    if (verified.code() == lapse::StatusCode::kCorrupt && message != nullptr) {
      void* text = nullptr;
      int length = 0;
      KVSTORE_TRY(hand_out(verified.message(), &text, &length));
      *message = static_cast<char*>(text);
    }
    return verified;
  });
}

int kvstore_sync(KVStore* kv) {
  return on_store(kv, [](Handle& handle) -> Outcome { return handle.store().sync(); });
}

int kvstore_incremental_vacuum(KVStore* kv, int pages) {
  return on_store(kv, [&](Handle&) -> Outcome {
    if (pages >= 0) return {};
    return Outcome::error(std::to_string(pages) + " pages: it cannot be negative");
  });
}

int kvstore_checkpoint(KVStore* kv, int mode, int* log_pages, int* done_pages) {
  clear_outputs(log_pages, done_pages);
  return on_store(kv, [&](Handle& handle) -> Outcome {
    if (mode < KVSTORE_CHECKPOINT_PASSIVE || mode > KVSTORE_CHECKPOINT_TRUNCATE)
      return Outcome::error("there is no checkpoint mode " + std::to_string(mode));
    const int to_do = to_int(pages(handle.store().stats().buffer_bytes));
    KVSTORE_TRY(handle.checkpoint());
    ++handle.counters().checkpoints;
    set_if_given(log_pages, to_do);
    set_if_given(done_pages, to_do);
    return {};
  });
}

}  // extern "C"
