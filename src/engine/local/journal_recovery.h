// What a set of journal files says, after whatever happened to them.
//
// Replay goes from what is in the tree, record by record and file by file, to the first place b = (last good
// sequence + 1) where no valid record stands. There it ends, in one of two ways:
//
//   torn tail   nothing says that b was ever synced: the power went before it was, or nobody wrote it. The
//               store is complete without it.
//   damage      the tree, a header, or a record further on that stands alone says that b had been synced.
//               What was promised to be there is not: the store is refused, with file and offset.
//
// That a good record stands behind a bad one says nothing by itself: unsynced writes reach the disk in any
// order. It is what that record *says*, that b was synced before it was written, that convicts.
//
// Pure functions over bytes: no file is opened here, so that tests and the fuzzer can feed them anything.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/local/journal_format.h"
#include "lapse/status.h"

namespace lapse::engine {

// One file, by the name that messages should use.
struct JournalImage {
  std::string name;
  std::string_view bytes;
};

// Where the tree ends and the journal begins.
struct ReplayStart {
  std::string name{};  // of the store, for messages
  StoreId store_id{};
  uint64_t drained_sequence = 0;  // in the tree
  uint64_t first_file = 1;        // the number of the file that goes on from there
  uint64_t chain = 0;             // checksum of the record of drained_sequence
  uint64_t synced_sequence = 0;   // known by the tree to have been synced: a drain that had begun
};

struct ReplayEnd {
  uint64_t last_sequence = 0;
  uint64_t chain = 0;
  uint64_t next_file = 1;    // a number above every number seen
  bool clean = false;        // closed cleanly, and nothing after it
  std::vector<size_t> live;  // indices into the images: those that hold records, in order
  // Of a damaged journal: what is wrong where, and (indices) the files it concerns.
  Status damage;
  std::vector<size_t> damaged;
};

// Called for each record in order; an error stops the replay and is its result.
using ApplyRecord = std::function<Status(const Record& record)>;

// kInvalidArgument: a file is no journal, or of another store. kUnsupported: of another format. Damage is not
// an error here but part of the answer, since a salvage goes on with what stands before it.
Result<ReplayEnd> replay_journal(const std::vector<JournalImage>& images, const ReplayStart& start,
                                 const ApplyRecord& apply);

// Checks the records of one file from the first on, up to `end`. kCorrupt if they do not all stand.
Status verify_records(const JournalImage& image, const JournalHeader& header, uint64_t end);

}  // namespace lapse::engine
