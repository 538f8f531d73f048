// What a disk may hold after the power went at a given point of an IoRecord.
//
// The model, per file and 512-byte sector:
//  - What was recorded before the begin of a sync that returned is on disk.
//  - What was recorded later may be or not, each sector for itself: the disk holds the sector as it
//    was in memory at some moment since, which need not be the same moment for two sectors. So a
//    write is dropped, whole, or torn between sectors; and a later write to the same sector brings
//    the earlier one along. A sector can also be caught in the middle of a mapped store.
//  - The size is as it was at some moment since, whatever became of the data: a file that grew may
//    have zeros where the data should be.
//  - After a failed sync nothing it was asked for is certain any more, also not after a later sync
//    that succeeds; only writing it anew helps.
// And for the directory:
//  - A creation, rename or unlink is certain after a sync of the directory that began later. Until
//    then it happened or not, but in order with the others that concern the same names.
//
// CutStyle says how the choice is made where there is one.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fault_env.h"
#include "io_record.h"

namespace lapse::fault {

enum class CutStyle : uint8_t {
  kNothing,      // of what is not certain landed
  kEverything,   // did: what kill -9 leaves
  kPrefix,       // all up to some event, which is torn
  kWholeWrites,  // each write is there or not
  kTornWrites,   // or torn: at one sector boundary, or sector by sector
  kSectors,      // each sector is of some moment of its own
  kMixed,        // and mapped stores are caught in the middle
  kAllButOne,    // one write is missing or torn
  kOnlyOne,      // one write landed, whole or torn
};
inline constexpr int kCutStyles = 9;

std::string_view cut_style_name(CutStyle style);

// Walks a record from its begin to its end, and says at each point what the disk may hold.
class DiskModel {
 public:
  // The record must outlive the model.
  explicit DiskModel(const IoRecord& record);

  // Takes in the events before `cut`. REQUIRES: cut is not less than last time.
  void advance_to(size_t cut);

  // One of the possible disks. The same seed gives the same one.
  FileImage image(CutStyle style, uint64_t seed) const;

  // What programs saw at that moment.
  FileImage page_cache() const { return image(CutStyle::kEverything, 0); }

 private:
  static constexpr uint64_t kSectorBytes = 512;

  // A part of one write that falls into one sector.
  struct Piece {
    size_t event;
    uint32_t begin, end;  // within the sector
    const char* bytes;    // null: zeros
    bool lost = false;    // a sync of it failed
  };
  struct Size {
    size_t event;
    uint64_t size;
    bool lost = false;
  };
  struct File {
    std::string durable;
    uint64_t size = 0;                               // as programs see it
    std::map<uint64_t, std::vector<Piece>> sectors;  // what is not certain yet, in order
    std::vector<Size> sizes;
  };
  struct Choice;

  void apply(size_t index, const IoEvent& event);
  void add_bytes(File& file, size_t event, uint64_t offset, uint64_t size, const char* bytes);
  void add_resize(File& file, size_t event, uint64_t size);
  void settle_file(File& file, size_t begin);
  void settle_write(File& file, size_t event);
  void lose(File& file, size_t begin);
  void settle_directory(size_t begin);

  std::string file_image(const File& file, const Choice& choice) const;
  std::map<std::string, int> names_image(const Choice& choice) const;
  std::vector<size_t> uncertain_events() const;
  Choice choose(CutStyle style, uint64_t seed) const;

  static void apply_piece(const Piece& piece, uint64_t sector, std::string& to);

  const IoRecord& record_;
  size_t position_ = 0;
  std::map<int, File> files_;
  std::map<std::string, int> durable_names_;
  std::vector<size_t> directory_events_;  // not certain yet, in order
};

// Whether the record explains what the files hold now: "" or what differs. Files whose names end in
// "-lock" are left out: LMDB keeps nothing there that outlives a process, and maps them.
std::string check_replay(const IoRecord& record);

}  // namespace lapse::fault
