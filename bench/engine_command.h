// `lapse-bench engine`: Lapse's engine beside LMDB, RocksDB, SQLite and LevelDB.

#pragma once

#include <string_view>

#include "bench/usage.h"

namespace lapse::bench {

inline constexpr std::string_view kEngineHelp =
    R"(lapse-bench engine [options]
    Lapse's engine, LMDB, RocksDB, SQLite and LevelDB, one after the other in one process, with the
    same 16-byte random keys and 100-byte values. Prints a table with ratios, and which aims are met.

    --quick               100,000 entries instead of 1,000,000
    --large               10,000,000 entries, one round
    --rounds N            rounds to take the median of (3)
    --stores A,B,...      only these: lapse, lapse-bg (background drain), lmdb, lmdb-nosync, rocksdb,
                          sqlite, leveldb
    --only A,B,...        only these workloads: memory, put_single, put_batch, disk, open, get,
                          get_alone, get_missing, scan, get_half_full, get_draining, overwrite,
                          commit_full_1, commit_full_8, commit_full_16
    --json FILE           also writes {"workload": {"lapse": figure, "lmdb": figure, ...}, ...}
    --dir DIR             where the stores' files go (./build, if there is one, else $TMPDIR or
                          /tmp), in a folder that is removed at the end
)";

// Returns the exit code. Throws UsageError.
int run_engine_command(const Arguments& arguments);

}  // namespace lapse::bench
