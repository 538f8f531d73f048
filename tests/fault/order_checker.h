// The rules of order that every record must keep, whatever a power cut would have made of breaking them:
//
//  1. No acknowledgement at `full` before a sync that covers the commit's record, all records before it, and
//     the header of its file.
//  2. No journal file is used again or removed before an LMDB commit, meta page synced, that holds all of it.
//  3. No record in a file whose directory entry is not synced.
//
// Commits are recognised by their tokens (store_driver.h), so next to nothing of the journal's format is known
// here: only that each use of a file begins with a header, at 0 and again at 4096, that has a salt in it.

#pragma once

#include <string>
#include <vector>

#include "history.h"
#include "io_record.h"

namespace lapse::fault {

struct OrderReport {
  std::vector<std::string> violations;
  // How much was checked: so that a test can insist that it was not nothing.
  uint64_t acknowledgements = 0;
  uint64_t reuses = 0;
  uint64_t records = 0;
};

// `store` is the name of the store's file, e.g. "my.db".
OrderReport check_order(const IoRecord& record, const History& history, const std::string& store);

}  // namespace lapse::fault
