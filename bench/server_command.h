// `lapse-bench server`: Lapse's server beside Redis, with redis-benchmark as the client of both.

#pragma once

#include <string_view>

#include "bench/usage.h"

namespace lapse::bench {

inline constexpr std::string_view kServerHelp =
    R"(lapse-bench server [options]
    `lapse serve` and Debian's redis-server on loopback, measured in turns by redis-benchmark: 50 clients,
    values of 100 bytes, pipelines of 1, 16 and 100. First with a sync each second (durability normal;
    appendfsync everysec), then with a sync before each answer (always_…: durability full; appendfsync
    always). Prints a table with ratios, and which aims are met.

    --quick               100,000 keys instead of 1,000,000, and fewer requests
    --rounds N            rounds to take the median of (5; of --quick 3)
    --stores A,B          only these: lapse, redis
    --only A,B,...        only these workloads: disk, memory_per_key, set, get, set_ex, incr, mset, and
                          the five commands as always_set, ...
    --json FILE           also writes {"workload": {"lapse": figure, "redis": figure}, ...}
    --dir DIR             where the servers' files go (./build, if there is one, else $TMPDIR or /tmp),
                          in a folder that is removed at the end
)";

// Returns the exit code. Throws UsageError.
int run_server_command(const Arguments& arguments);

}  // namespace lapse::bench
