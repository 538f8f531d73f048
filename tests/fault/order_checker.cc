#include "order_checker.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/coding.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

constexpr uint64_t kHeaderStride = 4096;
constexpr uint64_t kSaltOffset = 32;
constexpr uint64_t kSaltEnd = kSaltOffset + 8;
constexpr uint64_t kMetaPagesEnd = 2 * 4096;  // of LMDB

// Where a commit's token is in a journal.
struct Place {
  uint64_t sequence;
  size_t event;  // that wrote it; 0 if it was there from the start
  uint64_t begin;

  uint64_t end() const { return begin + kTokenBytes; }
};

struct JournalFile {
  std::string contents{};
  bool entry_synced = false;
  std::optional<uint64_t> salt{};
  std::vector<Place> live{};    // commits that are nowhere else yet
  std::set<size_t> unsynced{};  // writes to it, by event
};

class OrderChecker {
 public:
  OrderChecker(const IoRecord& record, const History& history, const std::string& store)
      : record_(record), store_(store), journal_prefix_(store + "-journal") {
    for (uint64_t i = 1; i <= history.size(); ++i) sequence_of_[history.commit(i)[0].key] = i;
    int file = 0;
    for (const auto& [name, contents] : record.initial) adopt(file++, name, contents);
  }

  OrderReport run() {
    for (size_t i = 0; i < record_.events.size(); ++i) take(i, record_.events[i]);
    return std::move(report_);
  }

 private:
  // What was there when the record began is on disk.
  void adopt(int file, const std::string& name, const std::string& contents) {
    names_[name] = file;
    if (name == store_) {
      for (const auto& [sequence, at] : tokens_in(contents)) drained_.insert(sequence);
    }
    if (!is_journal(name)) return;
    JournalFile& journal = journals_[file];
    journal.contents = contents;
    journal.entry_synced = true;
    if (contents.size() >= kSaltEnd) {
      journal.salt = load_le<uint64_t>(contents.data() + kSaltOffset);
    }
    for (const auto& [sequence, at] : tokens_in(contents)) {
      journal.live.push_back({sequence, 0, at});
    }
  }

  void take(size_t index, const IoEvent& event) {
    switch (event.kind) {
      case IoEventKind::kCreate:
        names_[event.name] = event.file;
        created_[event.file] = index;
        if (is_journal(event.name)) journals_[event.file] = {};
        break;
      case IoEventKind::kRename:
        if (const auto found = names_.find(event.new_name); found != names_.end()) {
          put_to_other_use(index, found->second);
        }
        names_.erase(event.name);
        names_[event.new_name] = event.file;
        break;
      case IoEventKind::kUnlink:
        put_to_other_use(index, event.file);
        names_.erase(event.name);
        break;
      case IoEventKind::kResize: take_resize(index, event); break;
      case IoEventKind::kWrite:
      case IoEventKind::kMappedStore: take_write(index, event); break;
      case IoEventKind::kSynced: take_sync(event); break;
      case IoEventKind::kWriteSynced:
        if (is_tree(event.file)) settle_metas(event.begin, event.begin + 1);
        break;
      case IoEventKind::kMark:
        if (event.mark == Mark::kAcknowledged && event.full) check_acknowledged(index, event.value);
        break;
      case IoEventKind::kSyncBegin:
      case IoEventKind::kSyncFailed:
      case IoEventKind::kWriteFailed: break;
    }
  }

  void take_resize(size_t index, const IoEvent& event) {
    const auto found = journals_.find(event.file);
    if (found == journals_.end()) return;
    found->second.contents.resize(event.offset);
    std::erase_if(found->second.live, [&](const Place& place) {
      if (place.end() <= event.offset) return false;
      check_drained(index, place.sequence);
      return true;
    });
  }

  void take_write(size_t index, const IoEvent& event) {
    if (is_tree(event.file)) take_tree_write(index, event);
    const auto found = journals_.find(event.file);
    if (found == journals_.end()) return;
    JournalFile& journal = found->second;
    journal.unsynced.insert(index);
    const bool is_header = event.offset == 0 || event.offset == kHeaderStride;
    if (is_header && event.bytes.size() >= kSaltEnd) {
      const auto salt = load_le<uint64_t>(event.bytes.data() + kSaltOffset);
      if (journal.salt != salt) put_to_other_use(index, event.file);
      journal.salt = salt;
    }
    store(index, event, journal);
    for (const auto& [sequence, at] : tokens_in(event.bytes)) {
      ++report_.records;
      if (!journal.entry_synced) {
        violation(index, "commit " + std::to_string(sequence) +
                             " went into a file whose directory entry is not synced");
      }
      journal.live.push_back({sequence, index, event.offset + at});
      file_of_[sequence] = event.file;
    }
  }

  void take_tree_write(size_t index, const IoEvent& event) {
    if (event.offset < kMetaPagesEnd) {  // it makes what was synced before it the tree's
      metas_[index] = tree_synced_;
      return;
    }
    for (const auto& [sequence, at] : tokens_in(event.bytes)) tree_written_[index].insert(sequence);
  }

  // The meta pages written by events [from, to) are on disk.
  void settle_metas(size_t from, size_t to) {
    for (auto at = metas_.lower_bound(from); at != metas_.end() && at->first < to;) {
      drained_.merge(at->second);
      at = metas_.erase(at);
    }
  }

  // Takes in the bytes. Commits whose bytes change are lost; the same bytes written again are no change,
  // but are to be synced anew.
  void store(size_t index, const IoEvent& event, JournalFile& journal) {
    const uint64_t end = event.offset + event.bytes.size();
    if (journal.contents.size() < end) journal.contents.resize(end);
    std::erase_if(journal.live, [&](const Place& place) {
      if (place.end() <= event.offset || place.begin >= end) return false;
      const uint64_t from = std::max(place.begin, event.offset);
      const uint64_t to = std::min(place.end(), end);
      const auto old_bytes = std::string_view(journal.contents).substr(from, to - from);
      const auto new_bytes = std::string_view(event.bytes).substr(from - event.offset, to - from);
      if (old_bytes != new_bytes) check_drained(index, place.sequence);
      return true;
    });
    journal.contents.replace(event.offset, event.bytes.size(), event.bytes);
  }

  void take_sync(const IoEvent& event) {
    if (event.file == kDirectory) {
      for (auto& [file, journal] : journals_) {
        const auto created = created_.find(file);
        journal.entry_synced |= created == created_.end() || created->second < event.begin;
      }
    } else if (const auto journal = journals_.find(event.file); journal != journals_.end()) {
      auto& unsynced = journal->second.unsynced;
      unsynced.erase(unsynced.begin(), unsynced.lower_bound(event.begin));
    } else if (is_tree(event.file)) {
      settle_metas(0, event.begin);
      const auto end = tree_written_.lower_bound(event.begin);
      for (auto at = tree_written_.begin(); at != end; ++at) tree_synced_.merge(at->second);
      tree_written_.erase(tree_written_.begin(), end);
    }
  }

  void check_acknowledged(size_t index, uint64_t acknowledged) {
    ++report_.acknowledgements;
    if (!file_of_.contains(acknowledged)) {
      violation(index, "commit " + std::to_string(acknowledged) + " was acknowledged unwritten");
    }
    for (const auto& [file, journal] : journals_) {
      for (const Place& place : journal.live) {
        if (place.sequence > acknowledged || place.event == 0) continue;
        if (drained_.contains(place.sequence)) continue;
        // Its own write is unsynced, or one to the same file before it: the header, say.
        if (journal.unsynced.empty() || *journal.unsynced.begin() > place.event) continue;
        violation(index, "commit " + std::to_string(acknowledged) + " was acknowledged, but commit " +
                             std::to_string(place.sequence) + " is not synced");
      }
    }
  }

  void put_to_other_use(size_t index, int file) {
    const auto found = journals_.find(file);
    if (found == journals_.end() || found->second.live.empty()) return;
    ++report_.reuses;
    for (const Place& place : found->second.live) check_drained(index, place.sequence);
    found->second.live.clear();
  }

  void check_drained(size_t index, uint64_t sequence) {
    if (drained_.contains(sequence)) return;
    violation(index, "the journal of commit " + std::to_string(sequence) +
                         " was put to other use before the tree had it");
  }

  void violation(size_t index, const std::string& what) {
    if (report_.violations.size() >= 10) return;
    const IoEvent& event = record_.events[index];
    std::string name = event.name;
    for (const auto& [known, file] : names_) {
      if (file == event.file && event.kind != IoEventKind::kMark) name = known;
    }
    report_.violations.push_back("event " + std::to_string(index) + " (" + io_event_name(event.kind) + " " +
                                 name + "): " + what);
  }

  std::vector<std::pair<uint64_t, size_t>> tokens_in(std::string_view bytes) const {
    std::vector<std::pair<uint64_t, size_t>> found;
    for (size_t at = bytes.find(kTokenPrefix); at != std::string_view::npos;
         at = bytes.find(kTokenPrefix, at + 1)) {
      const auto known = sequence_of_.find(std::string(bytes.substr(at, kTokenBytes)));
      if (known != sequence_of_.end()) found.emplace_back(known->second, at);
    }
    return found;
  }

  bool is_journal(const std::string& name) const {
    return name.starts_with(journal_prefix_) && !name.ends_with(".damaged");
  }
  // Under its final name or while it is being created.
  bool is_tree(int file) const {
    for (const std::string& name : {store_, store_ + "-new"}) {
      const auto found = names_.find(name);
      if (found != names_.end() && found->second == file) return true;
    }
    return false;
  }

  const IoRecord& record_;
  const std::string store_;
  const std::string journal_prefix_;
  std::unordered_map<std::string, uint64_t> sequence_of_;  // by token
  std::map<std::string, int> names_;
  std::map<int, size_t> created_;
  std::map<int, JournalFile> journals_;
  std::map<uint64_t, int> file_of_;                    // by sequence
  std::map<size_t, std::set<uint64_t>> tree_written_;  // by event: commits in pages not synced yet
  std::set<uint64_t> tree_synced_;                     // commits in synced pages, without a meta page
  std::map<size_t, std::set<uint64_t>> metas_;  // by event: what an unsynced meta page makes the tree's
  std::set<uint64_t> drained_;
  OrderReport report_;
};

}  // namespace

OrderReport check_order(const IoRecord& record, const History& history, const std::string& store) {
  return OrderChecker(record, history, store).run();
}

}  // namespace lapse::fault
