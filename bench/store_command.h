// `lapse-bench store`: Lapse's store beside SQLite and RocksDB's DBWithTTL.

#pragma once

#include <string_view>

#include "bench/usage.h"

namespace lapse::bench {

inline constexpr std::string_view kStoreHelp =
    R"(lapse-bench store [options]
    Lapse's public API, SQLite with deadlines in an indexed column, and RocksDB's DBWithTTL, on keys with
    lifetimes. Prints a table with ratios, and which aims are met. "-": the store has no equivalent.

    --quick               100,000 entries instead of 1,000,000
    --rounds N            rounds to take the median of (3)
    --stores A,B,...      only these: lapse, sqlite, rocksdb
    --only A,B,...        only these workloads: put, put_ttl, put_same_ttl, put_batch, put_ttl_batch,
                          get, get_ttl, get_mixed, overwrite_ttl, purge_many, purge_few,
                          purge_few_small, purge_steadily, scan_expired, get_at
    --json FILE           also writes {"workload": {"lapse": figure, "sqlite": figure, ...}, ...}
    --dir DIR             where the stores' files go (./build, if there is one, else $TMPDIR or
                          /tmp), in a folder that is removed at the end
)";

// Returns the exit code. Throws UsageError.
int run_store_command(const Arguments& arguments);

}  // namespace lapse::bench
