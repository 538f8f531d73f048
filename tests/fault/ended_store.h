// The files of a store whose process has ended, by kill -9 or in order, and where each commit's record is.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/local/local_engine.h"
#include "file_image.h"
#include "history.h"

namespace lapse::fault {

// Where a journal record is. It is the whole of what one commit appended.
struct RecordPlace {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  uint64_t end() const { return offset + bytes; }
};

struct EndedStore {
  FileImage files;
  History history;
  std::vector<RecordPlace> places;  // by sequence; 0 is of no meaning

  const RecordPlace& last_place() const { return places.back(); }
};

enum class Ending { kKilled, kClosed };

// Runs a child that opens a store named my.db, makes these commits and ends; reads what it left.
EndedStore make_ended_store(const engine::LocalOptions& options, const std::vector<Commit>& commits,
                            Ending ending);

inline constexpr const char* kStoreName = "my.db";

// What came of opening a store.
struct Reopened {
  Status open;                 // the rest means something only if it is ok
  uint64_t last_sequence = 0;  // the commits that it shows
  Status wrong;                // what is not as it must be in any store that opens
};

// Opens the store in `directory` and checks that it shows the state after one of the commits, passes
// verify() and takes another commit.
Reopened reopen_and_check(const std::string& directory, const History& history,
                          const engine::LocalOptions& options);

}  // namespace lapse::fault
