// StoreMeta: what the tree knows about itself, in one row that changes with every commit of the tree.
//
//   offset  size
//        0     4   format version of the store, 1
//        4     4   zero
//        8    16   store id, random: tells which journals belong here
//       24     8   drained sequence: every commit up to it is in the tree
//       32     8   target sequence: some commits up to it may be, since a drain has begun; they were synced
//       40     8   number of the journal file that goes on behind the drained sequence
//       48     8   checksum of the drained sequence's record, which that file's header must name
//       56     8   number of rows, this one not counted
//       64     8   sum of the rows' checksums, modulo 2^64
//       72     8   next id for the rest of a long key
//       80     8   LMDB's number of the commit that wrote it, so that a damaged meta page cannot pass an older
//                  state off as newer
//       88     8   checksum of bytes 0 to 87

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/local/journal_format.h"
#include "lapse/status.h"

namespace lapse::engine {

inline constexpr uint32_t kStoreVersion = 1;

struct StoreMeta {
  StoreId store_id{};
  uint64_t drained_sequence = 0;
  uint64_t target_sequence = 0;
  uint64_t first_file = 1;
  uint64_t chain = 0;
  uint64_t rows = 0;
  uint64_t row_sum = 0;
  uint64_t next_long_key_id = 1;
  uint64_t txnid = 0;

  std::string encode() const;
  // kCorrupt, or kUnsupported for a newer format. The message does not name the file.
  static Result<StoreMeta> decode(std::string_view bytes);
};

StoreId new_store_id();

}  // namespace lapse::engine
