// Cuts the power at many points of a record, opens what is left, and compares it with the history.
// Some of those openings are recorded and cut in their turn.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "crash_image.h"
#include "fault_env.h"
#include "history.h"
#include "io_record.h"

namespace lapse::fault {

// What one run of a store left to be explored.
struct RecordedRun {
  IoRecord record;
  History history;
  uint64_t floor = 0;    // commits that were certain when the record began
  uint64_t ceiling = 0;  // commits that there had been
  std::string lock_file_bytes{};
  size_t first_cut = 0;  // what is before is only how it came to this
};

struct CutCounters {
  std::atomic<uint64_t> images{0};
  std::atomic<uint64_t> later_generations{0};  // of them, cuts within a recovery or after one
  std::atomic<uint64_t> shortened{0};          // of them, those that lost commits, as they may
};

class CutExplorer {
 public:
  CutExplorer(std::string directory, std::string store, uint64_t seed, CutCounters* counters)
      : directory_(std::move(directory)), store_(std::move(store)), random_(seed), counters_(counters) {}

  // Opens `images` images, of up to `generations` generations. Returns what is wrong with the first
  // one that is not as it must be, and how to see it again; "" if all are.
  std::string explore(const RecordedRun& run, uint64_t images, int generations);

  // Opens an image of every style, `seeds` of each, at every point.
  std::string explore_everything(const RecordedRun& run, uint64_t seeds);

  // Kills the process at each of `kills` points of the record, lets a successor recover and go on, and
  // cuts the power `images` times in that: what the successor found was only in memory.
  std::string explore_kills(const RecordedRun& run, uint64_t kills, uint64_t images);

 private:
  struct Bounds {
    uint64_t floor;
    uint64_t ceiling;
  };

  std::string check_image(const FileImage& image, const History& history, const Bounds& bounds);
  std::string explore_recovery(const RecordedRun& run, const History& history, size_t cut,
                               const FileImage& image, bool killed, const Bounds& bounds, uint64_t images,
                               int generations);
  Result<uint64_t> look_read_only(const History& history);
  void put_lock_file(FileImage* image, const RecordedRun& run);
  std::string describe_cut(size_t cut, size_t events, CutStyle style) const;
  std::string path() const { return directory_ + "/" + store_; }

  const std::string directory_;
  const std::string store_;
  Random random_;
  CutCounters* const counters_;
  int generation_ = 1;
};

}  // namespace lapse::fault
