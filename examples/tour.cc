// A short tour of the engine on a temporary store: transactions, reads, cursors, snapshots, what is
// left after a reopen, and the figures the engine keeps. `./run` builds and runs it.

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/try.h"
#include "engine/local/local_engine.h"

namespace {

using lapse::Result;
using lapse::Status;
using lapse::StatusCode;
using lapse::engine::Engine;
using lapse::engine::EngineStats;
using lapse::engine::Reader;

constexpr int kBulkCommits = 100'000;

// A folder in $TMPDIR or /tmp that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "lapse-tour-XXXXXX").string();
    if (!error && ::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty if none could be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One line of the story: what was done, and what came of it.
void tell(std::string_view what, std::string_view outcome) {
  std::cout << "  " << std::left << std::setw(46) << what << " " << outcome << "\n";
}

void chapter(std::string_view title) { std::cout << title << "\n"; }

Result<std::string> show(const Reader& reader, std::string_view key) {
  LAPSE_TRY_ASSIGN(auto value, reader.get(key));
  return std::string(value.value_or("(absent)"));
}

// "apple=red cherry=dark": the entries whose key starts with prefix, in key order.
Result<std::string> list(const Reader& reader, std::string_view prefix) {
  std::string line;
  auto cursor = reader.cursor();
  LAPSE_TRY(cursor->seek(prefix));
  while (cursor->valid() && cursor->key().starts_with(prefix)) {
    if (!line.empty()) line += ' ';
    line.append(cursor->key().substr(prefix.size())).append("=").append(cursor->value());
    LAPSE_TRY(cursor->next());
  }
  return line;
}

Status write_and_read(Engine& engine) {
  chapter("A transaction is one commit, and commits are numbered");
  LAPSE_TRY_ASSIGN(auto transaction, engine.begin());
  LAPSE_TRY(transaction->put("fruit/cherry", "dark"));
  LAPSE_TRY(transaction->put("fruit/apple", "red"));
  LAPSE_TRY(transaction->put("fruit/banana", "yellow"));
  LAPSE_TRY_ASSIGN(const uint64_t sequence, transaction->commit());
  tell("put three fruits, commit", "this was commit " + std::to_string(sequence));

  LAPSE_TRY_ASSIGN(auto snapshot, engine.snapshot());
  LAPSE_TRY_ASSIGN(const std::string apple, show(*snapshot, "fruit/apple"));
  LAPSE_TRY_ASSIGN(const std::string melon, show(*snapshot, "fruit/melon"));
  tell("get apple, get melon", apple + ", " + melon);
  LAPSE_TRY_ASSIGN(const std::string fruits, list(*snapshot, "fruit/"));
  tell("a cursor, from the first fruit on", fruits);
  auto cursor = snapshot->cursor();
  LAPSE_TRY(cursor->last());
  LAPSE_TRY(cursor->prev());
  tell("and one step back from the last", cursor->key());
  return {};
}

Status keep_a_moment(Engine& engine) {
  chapter("A snapshot is one moment, whatever is written later");
  LAPSE_TRY_ASSIGN(auto before, engine.snapshot());
  LAPSE_TRY_ASSIGN(auto transaction, engine.begin());
  LAPSE_TRY(transaction->put("fruit/apple", "green"));
  LAPSE_TRY(transaction->erase("fruit/banana"));
  LAPSE_TRY(transaction->commit());
  LAPSE_TRY_ASSIGN(auto after, engine.snapshot());

  LAPSE_TRY_ASSIGN(const std::string then, list(*before, "fruit/"));
  LAPSE_TRY_ASSIGN(const std::string now, list(*after, "fruit/"));
  tell("as of commit " + std::to_string(before->sequence()), then);
  tell("as of commit " + std::to_string(after->sequence()), now);
  return {};
}

Status change_ones_mind(Engine& engine) {
  chapter("A transaction sees its own writes, and can take them back");
  LAPSE_TRY_ASSIGN(auto transaction, engine.begin());
  LAPSE_TRY(transaction->put("fruit/date", "brown"));
  const auto savepoint = transaction->savepoint();
  LAPSE_TRY(transaction->erase("fruit/apple"));
  LAPSE_TRY_ASSIGN(const std::string inside, list(*transaction, "fruit/"));
  tell("put date, savepoint, erase apple", inside);
  LAPSE_TRY(transaction->rollback_to(savepoint));
  LAPSE_TRY_ASSIGN(const std::string rolled_back, list(*transaction, "fruit/"));
  tell("roll back to the savepoint", rolled_back);

  const auto second = engine.begin();
  if (second.status().code() != StatusCode::kBusy) {
    return Status(StatusCode::kConflict, "two writers at the same time");
  }
  tell("begin another one meanwhile, in this thread", "Busy at once, not a deadlock");

  transaction.reset();
  LAPSE_TRY_ASSIGN(auto snapshot, engine.snapshot());
  LAPSE_TRY_ASSIGN(const std::string outside, list(*snapshot, "fruit/"));
  tell("drop it without a commit", outside);
  return {};
}

Status write_many(Engine& engine) {
  chapter("A commit returns when kill -9 can no longer take it away");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBulkCommits; ++i) {
    LAPSE_TRY_ASSIGN(auto transaction, engine.begin());
    LAPSE_TRY(transaction->put("number/" + std::to_string(i), std::string(100, 'x')));
    LAPSE_TRY(transaction->commit());
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::ostringstream took;
  took << std::fixed << std::setprecision(2) << elapsed.count() << " s";
  tell(std::to_string(kBulkCommits) + " puts of 100 bytes, a commit each", took.str());
  LAPSE_TRY(engine.sync());
  tell("sync", "now a power cut cannot either");
  return {};
}

std::string kilobytes(uint64_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }

Status show_figures(Engine& engine) {
  chapter("The engine keeps figures");
  const EngineStats before = engine.stats();
  tell("in the write buffer",
       std::to_string(before.buffer_entries) + " entries, " + kilobytes(before.buffer_bytes));
  tell("in the journal", std::to_string(before.journal_files) + " files, " + kilobytes(before.journal_bytes) +
                             ", " + std::to_string(before.syncs) + " syncs for " +
                             std::to_string(before.commits) + " commits");
  LAPSE_TRY(engine.checkpoint());
  const EngineStats after = engine.stats();
  tell("in the tree, after a checkpoint",
       std::to_string(after.entries_in_tree) + " entries, " + kilobytes(after.tree_file_bytes));
  return {};
}

Status reopen(const std::string& path) {
  chapter("After a reopen everything is there");
  LAPSE_TRY_ASSIGN(auto engine, lapse::engine::open_local(path, {.create_if_missing = false}));
  {
    LAPSE_TRY_ASSIGN(auto snapshot, engine->snapshot());
    LAPSE_TRY_ASSIGN(const std::string fruits, list(*snapshot, "fruit/"));
    tell("the fruits, as of commit " + std::to_string(snapshot->sequence()), fruits);
  }
  LAPSE_TRY(engine->verify());
  tell("verify every entry, page and checksum", "ok");
  return engine->close();
}

Status tour(const std::string& path) {
  std::cout << "A tour of Lapse, on a store of its own in " << path << "\n\n";
  {
    LAPSE_TRY_ASSIGN(auto engine, lapse::engine::open_local(path, {}));
    LAPSE_TRY(write_and_read(*engine));
    LAPSE_TRY(keep_a_moment(*engine));
    LAPSE_TRY(change_ones_mind(*engine));
    LAPSE_TRY(write_many(*engine));
    LAPSE_TRY(show_figures(*engine));
    LAPSE_TRY(engine->close());
  }
  return reopen(path);
}

}  // namespace

int main() {
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    std::cerr << "lapse-tour: no temporary folder can be made\n";
    return 1;
  }
  const Status status = tour(folder.path() + "/tour.db");
  if (!status.ok()) std::cerr << "lapse-tour: " << status.to_string() << "\n";
  return status.ok() ? 0 : 1;
}
