// The workloads of `lapse-bench engine`. Each takes one store's turn and records its figures.

#pragma once

#include "bench/engine_turn.h"
#include "bench/rounds.h"

namespace lapse::bench {

void memory(const Turn& turn);
void put_single(const Turn& turn);
void put_batch(const Turn& turn);
void disk(const Turn& turn);
void open_time(const Turn& turn);
void get(const Turn& turn);
void get_alone(const Turn& turn);
void get_missing(const Turn& turn);
void scan(const Turn& turn);
void get_half_full(const Turn& turn);
void get_draining(const Turn& turn);
void overwrite(const Turn& turn);
void commit_full_1(const Turn& turn);
void commit_full_8(const Turn& turn);
void commit_full_16(const Turn& turn);

// In the order in which they run.
inline constexpr Workload<Turn> kEngineWorkloads[] = {
    // Forks, so it runs before any store has started threads in this process.
    {"memory", memory, /*once=*/true},
    {"put_single", put_single},
    // Makes anew the loaded store that the others, up to overwrite, work on.
    {"put_batch", put_batch},
    {"disk", disk},
    {"open", open_time},
    {"get", get},
    {"get_alone", get_alone},
    {"get_missing", get_missing},
    {"scan", scan},
    {"get_half_full", get_half_full},
    {"get_draining", get_draining},
    {"overwrite", overwrite},
    {"commit_full_1", commit_full_1},
    {"commit_full_8", commit_full_8},
    {"commit_full_16", commit_full_16},
};

}  // namespace lapse::bench
