#include "engine/local/journal_recovery.h"

#include <algorithm>

#include "base/coding.h"
#include "base/try.h"

namespace lapse::engine {

namespace {

struct LiveFile {
  size_t image;
  JournalHeader header;
};

// The position that replay has reached.
struct Position {
  uint64_t sequence;
  uint64_t chain;

  bool precedes(const Record& record) const {
    return record.sequence == sequence + 1 && record.chain == chain;
  }
  bool precedes(const JournalHeader& header) const {
    return header.first_sequence == sequence + 1 && header.chain == chain;
  }
};

std::string at_offset(const std::string& name, size_t offset) {
  return name + ": offset " + std::to_string(offset);
}

// The valid headers from `start` on, in file order.
Result<std::vector<LiveFile>> find_live_files(const std::vector<JournalImage>& images,
                                              const ReplayStart& start, uint64_t* next_file) {
  std::vector<LiveFile> live;
  for (size_t i = 0; i < images.size(); ++i) {
    const HeaderPair pair = decode_headers(images[i].bytes);
    switch (pair.state) {
      case HeaderPair::State::kNone: continue;
      case HeaderPair::State::kForeign:
        return Status(StatusCode::kInvalidArgument, images[i].name + ": not a Lapse journal");
      case HeaderPair::State::kUnsupported:
        return Status(StatusCode::kUnsupported, images[i].name + ": written by another version of Lapse");
      case HeaderPair::State::kValid: break;
    }
    if (pair.header.store_id != start.store_id)
      return Status(StatusCode::kInvalidArgument,
                    images[i].name + ": belongs to another store; move it away to open this one");
    *next_file = std::max(*next_file, pair.header.file_number + 1);
    if (pair.header.file_number >= start.first_file) live.push_back({i, pair.header});
  }
  // A number occurs twice if putting a file to use had failed half-way: those with records come first.
  const auto rank = [&](const LiveFile& file) {
    const bool used =
        decode_record(images[file.image].bytes, kJournalRecordsOffset, file.header.salt).has_value();
    return std::pair(file.header.file_number, !used);
  };
  std::sort(live.begin(), live.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return live;
}

// Applies the valid records of one file. Returns the offset where they end.
Result<size_t> replay_file(std::string_view bytes, const JournalHeader& header, Position* position,
                           const ApplyRecord& apply) {
  size_t offset = kJournalRecordsOffset;
  while (true) {
    const std::optional<Record> record = decode_record(bytes, offset, header.salt);
    if (!record || !position->precedes(*record)) return offset;
    LAPSE_TRY(apply(*record));
    *position = {record->sequence, record->checksum};
    offset += record->file_bytes();
  }
}

// A file that was never put to use is all zeros.
bool has_lost_its_headers(std::string_view bytes) {
  return decode_headers(bytes).state == HeaderPair::State::kNone &&
         bytes.find_first_not_of('\0', kJournalRecordsOffset) != std::string_view::npos;
}

// The newest sequence that any record standing alone at or behind `offset` knows to be synced.
uint64_t newest_synced_behind(std::string_view bytes, const JournalHeader& header, size_t offset) {
  uint64_t newest = header.synced_sequence;
  const uint32_t magic = record_magic(header.salt);
  while (offset + kRecordHeaderBytes <= bytes.size()) {
    std::optional<Record> record;
    if (load_le<uint32_t>(bytes.data() + offset) == magic) record = decode_record(bytes, offset, header.salt);
    if (record) newest = std::max(newest, record->synced_sequence);
    offset += record ? record->file_bytes() : 8;
  }
  return newest;
}

Status damage_at(const std::string& where, uint64_t bad, uint64_t synced) {
  return {StatusCode::kCorrupt, where + ": no valid record of commit " + std::to_string(bad) +
                                    ", though commits up to " + std::to_string(synced) +
                                    " had been synced; open with salvage to keep what stands before"};
}

}  // namespace

Result<ReplayEnd> replay_journal(const std::vector<JournalImage>& images, const ReplayStart& start,
                                 const ApplyRecord& apply) {
  ReplayEnd end;
  end.next_file = start.first_file;
  LAPSE_TRY_ASSIGN(const std::vector<LiveFile> files, find_live_files(images, start, &end.next_file));

  Position position{start.drained_sequence, start.chain};
  uint64_t expected_file = start.first_file;
  const LiveFile* last = nullptr;              // of those replayed
  size_t last_offset = kJournalRecordsOffset;  // where it ends
  std::vector<const LiveFile*> left;           // that do not continue the chain
  for (const LiveFile& file : files) {
    if (file.header.file_number != expected_file || !position.precedes(file.header)) {
      left.push_back(&file);
      continue;
    }
    LAPSE_TRY_ASSIGN(last_offset, replay_file(images[file.image].bytes, file.header, &position, apply));
    end.live.push_back(file.image);
    last = &file;
    ++expected_file;
  }
  end.last_sequence = position.sequence;
  end.chain = position.chain;

  const uint64_t bad = position.sequence + 1;
  uint64_t synced = std::max(start.synced_sequence, start.drained_sequence);
  const auto listen_to = [&](const LiveFile& file, size_t from) {
    synced = std::max(synced, newest_synced_behind(images[file.image].bytes, file.header, from));
  };
  if (last != nullptr) listen_to(*last, last_offset);
  for (const LiveFile* file : left) listen_to(*file, kJournalRecordsOffset);
  if (bad <= synced) {
    end.damage =
        damage_at(last != nullptr ? at_offset(images[last->image].name, last_offset)
                                  : start.name + ": journal file number " + std::to_string(expected_file) +
                                        " is missing, or both its headers are lost",
                  bad, synced);
    if (last != nullptr) end.damaged.push_back(last->image);
    for (const LiveFile* file : left) end.damaged.push_back(file->image);
    for (size_t i = 0; i < images.size(); ++i) {
      if (has_lost_its_headers(images[i].bytes)) end.damaged.push_back(i);
    }
  }
  end.clean = end.damage.ok() && left.empty() &&
              (last == nullptr || (last->header.clean && last->header.synced_sequence == position.sequence));
  return end;
}

Status verify_records(const JournalImage& image, const JournalHeader& header, uint64_t end) {
  Position position{header.first_sequence - 1, header.chain};
  LAPSE_TRY_ASSIGN(const size_t offset, replay_file(image.bytes.substr(0, end), header, &position,
                                                    [](const Record&) { return Status(); }));
  if (offset == end) return {};
  return {StatusCode::kCorrupt, at_offset(image.name, offset) + ": damaged journal record"};
}

}  // namespace lapse::engine
