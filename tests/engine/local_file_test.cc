// What the local engine makes of the files it finds: those it must not write to, and those that are
// not what they should be. Whatever it refuses, it names, and leaves as it is.

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/test_hooks.h"
#include "engine/local/journal_format.h"
#include "test_engines.h"

namespace lapse::engine {
namespace {

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class LocalFileTest : public testing::Test {
 protected:
  using Files = std::map<std::string, std::string>;

  std::unique_ptr<Engine> open(const LocalOptions& options = {}) { return must(open_local(path_, options)); }

  // What a power cut could not undo: locks are not looked at, unless they are wanted too.
  Files files(bool locks_too = false) const {
    Files all;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      const std::string name = entry.path().filename();
      const bool is_lock = name.ends_with("-lock") || name.ends_with("-owner");
      if (entry.is_regular_file()) all[name] = is_lock && !locks_too ? "" : read_bytes(entry.path());
    }
    return all;
  }

  // The file of the journal that holds these bytes.
  std::string journal_with(std::string_view bytes) const {
    for (const auto& [name, contents] : files()) {
      if (name != "my.db" && contents.find(bytes) != std::string::npos) return dir_.file(name);
    }
    throw std::runtime_error("no journal holds " + std::string(bytes));
  }

  // A store with one entry in the tree and one in the journal; its process died without closing.
  void make_store(const LocalOptions& options = {}) {
    ASSERT_EQ("done", in_child([&] {
                Engine* engine = open(options).release();
                put(*engine, "in the tree", "1");
                must(engine->checkpoint());
                put(*engine, "in the journal", "2");
                return "done";
              }));
  }
  const Map contents_{{"in the journal", "2"}, {"in the tree", "1"}};

  // In a child, since the wrong answer may be a crash. The files must stay as they are.
  void expect_refused(const std::vector<StatusCode>& codes, const std::string& named) {
    const Files before = files();
    const std::string answer = in_child([&] { return open_local(path_, {}).status().to_string(); });
    bool expected = false;
    for (StatusCode code : codes) {
      expected |= answer.starts_with(std::string(status_code_name(code)) + ": ");
    }
    EXPECT_TRUE(expected) << answer;
    EXPECT_NE(std::string::npos, answer.find(named)) << answer;
    Files after = files();
    for (const auto& [name, bytes] : before) {
      EXPECT_TRUE(after[name] == bytes) << name << " was changed";
      after.erase(name);
    }
    for (const char* lock : {"my.db-lock", "my.db-owner"}) after.erase(lock);
    EXPECT_TRUE(after.empty()) << "left behind: " << after.begin()->first;
  }

  TempDir dir_;
  const std::string path_ = dir_.file("my.db");
};

// --------------------------------------------------------------------------------------- read-only

class LocalReadOnlyTest : public LocalFileTest {
 protected:
  LocalReadOnlyTest() { read_only_.read_only = true; }

  // Reads all there is to read through a handle that may not write.
  void expect_readable(const Map& expected) {
    auto engine = open(read_only_);
    EXPECT_TRUE(holds(*engine, expected));
    EXPECT_CODE(kReadOnly, engine->begin());
    EXPECT_OK(engine->verify());
    EXPECT_EQ(expected.size(), engine->stats().last_sequence);
    EXPECT_OK(engine->close());
  }

  // Runs in a child with a mount namespace of its own, where the directory is mounted read-only.
  std::string in_read_only_directory(const std::function<void()>& work) {
    return in_child([&]() -> std::string {
      const char* path = dir_.path().c_str();
      if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount(path, path, nullptr, MS_BIND, nullptr) != 0 ||
          mount(path, path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
        return "not permitted";
      }
      if (std::ofstream(dir_.file("probe"))) return "the mount is not read-only";
      work();
      return HasFailure() ? "see above" : "fine";
    });
  }

  LocalOptions read_only_;
};

TEST_F(LocalReadOnlyTest, CleanStoreIsReadAndNothingWritten) {
  {
    auto engine = open();
    put(*engine, "a", "1");
    must(engine->checkpoint());
    put(*engine, "b", "2");
  }
  const Files before = files();
  expect_readable({{"a", "1"}, {"b", "2"}});
  EXPECT_TRUE(before == files());
}

TEST_F(LocalReadOnlyTest, UncleanStoreIsReadAndNothingWritten) {
  make_store();
  const Files before = files();
  expect_readable(contents_);
  EXPECT_TRUE(before == files());
  EXPECT_TRUE(holds(*open(), contents_)) << "a writer may come later";
}

TEST_F(LocalReadOnlyTest, LargeJournalsAreRead) {
  Map expected;
  for (int i = 0; i < 100; ++i) expected[numbered(i)] = std::string(300, 'v');
  ASSERT_EQ("done", in_child([&] {
              LocalOptions options;
              options.journal_file_bytes = 4 << 10;  // many files, and nothing drained
              Engine* engine = open(options).release();
              for (const auto& [key, value] : expected) put(*engine, key, value);
              return "done";
            }));
  const Files before = files();
  EXPECT_GT(before.size(), 5U);
  expect_readable(expected);
  EXPECT_TRUE(before == files());
}

TEST_F(LocalReadOnlyTest, CopyCanBeMadeFromIt) {
  make_store();
  TempDir other;
  must(open(read_only_)->compact_to(other.file("copy.db")));
  EXPECT_TRUE(holds(*must(open_local(other.file("copy.db"), {})), contents_));
}

TEST_F(LocalReadOnlyTest, ReadOnlyDirectoryWithAnUndrainedJournal) {
  make_store();
  const Files before = files(true);
  const std::string answer = in_read_only_directory([&] { expect_readable(contents_); });
  if (answer == "not permitted") GTEST_SKIP() << answer;
  EXPECT_EQ("fine", answer);
  EXPECT_TRUE(before == files(true));
}

TEST_F(LocalReadOnlyTest, ReadOnlyDirectoryWithoutLockFiles) {
  make_store();
  std::filesystem::remove(path_ + "-lock");
  std::filesystem::remove(path_ + "-owner");
  const Files before = files(true);
  const std::string answer = in_read_only_directory([&] { expect_readable(contents_); });
  if (answer == "not permitted") GTEST_SKIP() << answer;
  EXPECT_EQ("fine", answer);
  EXPECT_TRUE(before == files(true));
}

TEST_F(LocalReadOnlyTest, WritableOpenInAReadOnlyDirectorySaysWhy) {
  make_store();
  const std::string answer = in_read_only_directory([&] {
    const Status status = open_local(path_, {}).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(std::string_view::npos, status.message().find("my.db")) << status.to_string();
    EXPECT_NE(std::string_view::npos, status.message().find("ead-only")) << status.to_string();
  });
  if (answer == "not permitted") GTEST_SKIP() << answer;
  EXPECT_EQ("fine", answer);
}

// --------------------------------------------------------------------------------------- bad files

using LocalBadFileTest = LocalFileTest;

constexpr auto kNoStore = StatusCode::kInvalidArgument;
constexpr auto kDamaged = StatusCode::kCorrupt;

TEST_F(LocalBadFileTest, EmptyFile) {
  write_bytes(path_, "");
  expect_refused({kNoStore}, path_);
}

TEST_F(LocalBadFileTest, TextFile) {
  write_bytes(path_, "Dear diary,\n");
  expect_refused({kNoStore}, path_);
  write_bytes(path_, std::string(100000, 'x'));
  expect_refused({kNoStore}, path_);
}

TEST_F(LocalBadFileTest, SqliteFile) {
  std::string bytes("SQLite format 3\0\x10\0\x01\x01", 20);
  bytes.resize(8192);
  write_bytes(path_, bytes);
  expect_refused({kNoStore}, path_);
}

TEST_F(LocalBadFileTest, RandomBytes) {
  Random random;
  for (size_t size : {1, 100, 4096, 8192, 100000}) {
    write_bytes(path_, random.bytes(size));
    expect_refused({kNoStore}, path_);
  }
}

TEST_F(LocalBadFileTest, Zeros) {
  write_bytes(path_, std::string(65536, '\0'));
  expect_refused({kNoStore}, path_);
}

TEST_F(LocalBadFileTest, Directory) {
  std::filesystem::create_directory(path_);
  expect_refused({kNoStore, StatusCode::kIoError}, path_);
}

TEST_F(LocalBadFileTest, FileWithoutPermission) {
  make_store();
  chmod(dir_.path().c_str(), 0755);
  chmod(path_.c_str(), 0);
  const Files before = files();
  const std::string answer = in_child([&]() -> std::string {
    if (geteuid() == 0 && seteuid(65534) != 0) return "not permitted";
    return open_local(path_, {}).status().to_string();
  });
  if (answer == "not permitted") GTEST_SKIP() << answer;
  EXPECT_TRUE(answer.starts_with("IoError: ")) << answer;
  EXPECT_NE(std::string::npos, answer.find(path_)) << answer;
  EXPECT_NE(std::string::npos, answer.find("ermission denied")) << answer;
  EXPECT_TRUE(before == files());
}

// Cut anywhere, a store is refused, or says what is missing when it is read; it never crashes and
// never passes for a smaller one.
TEST_F(LocalBadFileTest, TruncatedFile) {
  Map expected;
  for (int i = 0; i < 2000; ++i) expected[numbered(i)] = std::string(100, 'v');
  {
    auto engine = open();
    put_all(*engine, expected);
    must(engine->checkpoint());
  }
  const std::string whole = read_bytes(path_);
  ASSERT_GT(whole.size(), 100000U);
  for (size_t size : {size_t{1}, size_t{100}, size_t{4095}, size_t{4096}, size_t{8191}}) {
    write_bytes(path_, std::string_view(whole).substr(0, size));
    expect_refused({kNoStore, kDamaged}, path_);
  }
  for (size_t size = 8192; size < whole.size(); size += 4096 * 7 + 512) {
    write_bytes(path_, std::string_view(whole).substr(0, size));
    const std::string answer = in_child([&]() -> std::string {
      auto engine = open_local(path_, {});
      if (!engine.ok()) return engine.status().to_string();
      if (holds(**engine, expected)) return "whole";
      return (*engine)->verify().to_string();
    });
    EXPECT_TRUE(answer == "whole" || answer.starts_with("Corrupt: " + path_))
        << "at " << size << " of " << whole.size() << ": " << answer;
  }
}

// The same, of a newer version: the file is all right, the program is too old.
TEST_F(LocalBadFileTest, NewerTreeFormat) {
  open();
  std::string bytes = read_bytes(path_);
  for (size_t meta_page : {0, 4096}) store_le<uint32_t>(&bytes[meta_page + 20], 2);
  write_bytes(path_, bytes);
  expect_refused({StatusCode::kUnsupported}, path_);
}

// A meta page whose number is wrong could pass an older state off as the newest.
TEST_F(LocalBadFileTest, MetaPageOfAnotherCommit) {
  open();
  std::string bytes = read_bytes(path_);
  for (size_t meta_page : {0, 4096}) {
    char* txnid = &bytes[meta_page + 144];
    store_le<uint64_t>(txnid, load_le<uint64_t>(txnid) + 2);
  }
  write_bytes(path_, bytes);
  expect_refused({kDamaged}, "the meta page is of commit");
}

TEST_F(LocalBadFileTest, NewerStoreFormat) {
  open();
  std::string bytes = read_bytes(path_);
  const std::string_view row_key("\0meta", 5);
  int found = 0;
  for (size_t at = bytes.find(row_key); at != std::string::npos; at = bytes.find(row_key, at + 1)) {
    char* row = &bytes[at + row_key.size()];  // store_meta.h
    store_le<uint32_t>(row, 2);
    ++found;
  }
  ASSERT_GT(found, 0);
  write_bytes(path_, bytes);
  expect_refused({StatusCode::kUnsupported}, path_);
}

TEST_F(LocalBadFileTest, NewerJournalFormat) {
  make_store();
  const std::string journal = journal_with("in the journal");
  std::string bytes = read_bytes(journal);
  for (size_t copy : {0, 4096}) {  // journal_format.h
    store_le<uint32_t>(&bytes[copy + 8], 3);
    store_le(&bytes[copy + 80], checksum({&bytes[copy], 80}, 0x4c41505345484452));
  }
  write_bytes(journal, bytes);
  expect_refused({StatusCode::kUnsupported}, journal);
}

TEST_F(LocalBadFileTest, JournalThatIsNone) {
  { put(*open(), "key", "value"); }
  for (const auto& [name, bytes] : files()) {
    if (name != "my.db") std::filesystem::remove(dir_.file(name));
  }
  write_bytes(path_ + "-journal0", std::string(10000, 'x'));
  expect_refused({kNoStore}, "my.db-journal0");
}

TEST_F(LocalBadFileTest, JournalThatHasLostAnyBlockOfItsHeadersIsReadAllTheSame) {
  for (const bool clean : {false, true}) {
    for (const size_t block : {0, 4096}) {
      const TempDir dir;
      const std::string path = dir.file("my.db");
      ASSERT_EQ("done", in_child([&] {
                  Engine* engine = must(open_local(path, {})).release();
                  for (int i = 0; i < 5; ++i) put(*engine, numbered(i), "value");
                  must(clean ? engine->close() : engine->sync());
                  return "done";
                }));
      std::string bytes = read_bytes(path + "-journal0");
      bytes.replace(block, 4096, std::string(4096, '\0'));
      write_bytes(path + "-journal0", bytes);
      EXPECT_EQ(5U, must(open_local(path, {}))->stats().last_sequence) << block << ", clean " << clean;
    }
  }
}

TEST_F(LocalBadFileTest, JournalOfAnotherStore) {
  make_store();
  TempDir other;
  std::filesystem::copy(journal_with("in the journal"), other.file("journal"));
  for (const auto& [name, bytes] : files()) std::filesystem::remove(dir_.file(name));
  make_store();
  std::filesystem::copy(other.file("journal"), path_ + "-journal7");
  expect_refused({kNoStore}, "my.db-journal7");
}

// To start afresh over it would be to lose what it holds.
TEST_F(LocalBadFileTest, JournalWithoutItsStore) {
  make_store();
  std::filesystem::remove(path_);
  expect_refused({kNoStore}, "my.db-journal");
}

TEST_F(LocalBadFileTest, CopyIsNotPutBesideAJournal) {
  make_store();
  TempDir other;
  std::filesystem::copy(journal_with("in the journal"), other.file("copy.db-journal0"));
  EXPECT_CODE(kInvalidArgument, open()->compact_to(other.file("copy.db")));
  EXPECT_FALSE(std::filesystem::exists(other.file("copy.db")));
}

// --------------------------------------------------------------------------------------- damage

using LocalDamageTest = LocalFileTest;

TEST_F(LocalDamageTest, DamagedValueIsNotServed) {
  const std::string value(50, 'V');
  {
    auto engine = open();
    put_all(*engine, {{"a", "1"}, {"b", value}, {"c", "3"}});
    must(engine->checkpoint());
  }
  std::string bytes = read_bytes(path_);
  size_t at = bytes.find(value);
  ASSERT_NE(std::string::npos, at);
  for (; at != std::string::npos; at = bytes.find(value)) bytes[at + 10] ^= 1;
  write_bytes(path_, bytes);

  auto engine = open();
  auto snapshot = must(engine->snapshot());
  EXPECT_EQ("1", get(*snapshot, "a"));
  EXPECT_CODE(kCorrupt, snapshot->get("b"));
  EXPECT_EQ("3", get(*snapshot, "c"));
  auto cursor = snapshot->cursor();
  must(cursor->first());
  EXPECT_CODE(kCorrupt, cursor->next());
  EXPECT_FALSE(cursor->valid()) << "a failed move leaves no position";
  EXPECT_EQ("c=3", after(cursor->last(), *cursor));
  EXPECT_CODE(kCorrupt, cursor->prev());
  EXPECT_FALSE(cursor->valid());
  EXPECT_CODE(kCorrupt, engine->verify());
  snapshot.reset();
  engine.reset();

  LocalOptions trusting;
  trusting.verify_checksums = false;
  EXPECT_TRUE(get(*open(trusting), "b").has_value());
}

// Moves a separator of each branch, as a branch of another time might have it: up, over the first few keys of its
// leaf, or down, below the last few of the leaf before. A scan comes to those keys, a search does not. Returns
// whether there was one to move.
bool move_separators(std::string* tree_file, bool up) {
  static constexpr size_t kPageBytes = 4096;
  bool moved = false;
  for (size_t at = 2 * kPageBytes; at + kPageBytes <= tree_file->size(); at += kPageBytes) {
    char* page = tree_file->data() + at;
    if (load_le<uint16_t>(page + 10) != 1) continue;  // not a branch
    const unsigned nodes = (load_le<uint16_t>(page + 12) - 16) / 2;
    for (unsigned i = 1; i < nodes; ++i) {
      char* node = page + load_le<uint16_t>(page + 16 + 2 * i);
      if (load_le<uint16_t>(node + 6) != 5 || node[12] == '0') continue;  // not "\1k" and three digits
      const int tens = std::stoi(std::string(node + 10, 2)) * 10;
      std::memcpy(node + 10, std::to_string(1000 + (up ? tens + 11 : tens - 1)).data() + 1, 3);
      moved = true;
      break;
    }
  }
  return moved;
}

// Behind a long key, as each tenth is here, a scan has to find its way back.
TEST_F(LocalDamageTest, ScanEndsThoughBranchesContradictLeaves) {
  {
    auto engine = open();
    Map entries;
    for (int i = 0; i < 400; ++i) {
      const std::string key = "k" + std::to_string(1000 + i).substr(1);
      entries[key] = "value";
      if (i % 10 == 0) entries[key + std::string(600, 'l')] = "long";
    }
    put_all(*engine, entries);
    must(engine->checkpoint());
  }
  const std::string sound = read_bytes(path_);
  for (const bool up : {true, false}) {
    std::string bytes = sound;
    ASSERT_TRUE(move_separators(&bytes, up));
    write_bytes(path_, bytes);
    auto engine = open();
    auto snapshot = must(engine->snapshot());
    for (const bool forward : {true, false}) {
      auto cursor = snapshot->cursor();
      Status status = forward ? cursor->first() : cursor->last();
      std::string before;
      int seen = 0;
      for (; status.ok() && cursor->valid(); ++seen) {
        const std::string key(cursor->key());
        ASSERT_TRUE(seen == 0 || (forward ? before < key : key < before)) << key << " after " << before;
        before = key;
        status = forward ? cursor->next() : cursor->prev();
      }
      EXPECT_CODE(kCorrupt, status) << "up " << up << ", forward " << forward;
      EXPECT_GT(seen, 0);
    }
    EXPECT_CODE(kCorrupt, engine->verify());
  }
}

class LocalSalvageTest : public LocalFileTest {
 protected:
  // Ten commits, each synced; then one bit flips in the fifth.
  void damage_the_fifth() {
    ASSERT_EQ("done", in_child([&] {
                LocalOptions full;
                full.durability = Durability::kFull;
                Engine* engine = open(full).release();
                for (int i = 1; i <= 10; ++i) put(*engine, numbered(i), "value");
                return "done";
              }));
    journal_ = journal_with(numbered(5));
    std::string bytes = read_bytes(journal_);
    bytes[bytes.find(numbered(5))] ^= 1;
    write_bytes(journal_, bytes);
  }

  std::string journal_;
};

TEST_F(LocalSalvageTest, DamagedJournalIsRefusedWithItsPlace) {
  damage_the_fifth();
  expect_refused({kDamaged}, journal_);
}

TEST_F(LocalSalvageTest, SalvageOpensWhatStandsBeforeTheDamage) {
  damage_the_fifth();
  const std::string damaged = read_bytes(journal_);
  LocalOptions options;
  options.salvage = true;
  Map expected;
  for (int i = 1; i <= 4; ++i) expected[numbered(i)] = "value";
  {
    auto engine = open(options);
    EXPECT_TRUE(holds(*engine, expected));
    EXPECT_EQ(5U, put(*engine, "after", "salvage"));
  }
  EXPECT_TRUE(damaged == read_bytes(journal_ + ".damaged"));
  expected["after"] = "salvage";
  EXPECT_TRUE(holds(*open(), expected)) << "and is an ordinary store again";
}

// The evidence is safe before anything is built on what stands before the damage.
TEST_F(LocalSalvageTest, SalvageThatIsKilledHasKeptTheDamagedFile) {
  damage_the_fifth();
  const std::string damaged = read_bytes(journal_);
  ASSERT_EQ("signal 9", in_child([&] {
              test_hooks::on_crash_point = [](std::string_view name) {
                if (name == "recovery-drained") ::kill(::getpid(), SIGKILL);
              };
              LocalOptions options;
              options.salvage = true;
              (void)open_local(path_, options);
              return "not killed";
            }));
  EXPECT_TRUE(damaged == read_bytes(journal_ + ".damaged"));
}

TEST_F(LocalSalvageTest, SalvageKeepsAFileThatHasLostBothItsHeaders) {
  ASSERT_EQ("done", in_child([&] {
              LocalOptions full;
              full.durability = Durability::kFull;
              full.journal_file_bytes = 64 << 10;
              Engine* engine = open(full).release();
              for (int i = 1; i <= 10; ++i) put(*engine, numbered(i), std::string(20'000, 'v'));
              return "done";
            }));
  journal_ = journal_with(numbered(1));
  ASSERT_NE(journal_, journal_with(numbered(10)));
  std::string bytes = read_bytes(journal_);
  for (const size_t copy : {0, 1}) bytes.replace(copy * kJournalHeaderStride, 512, 512, '\0');
  write_bytes(journal_, bytes);
  LocalOptions options;
  options.salvage = true;
  EXPECT_TRUE(holds(*open(options), {}));
  EXPECT_TRUE(bytes == read_bytes(journal_ + ".damaged"));
}

// The drain has brought some of the ten into the tree already: no number may be given out twice.
TEST_F(LocalSalvageTest, SalvageOfAStoreThatWasBeingDrainedGoesOnBehindAllItsCommits) {
  ASSERT_EQ("signal 9", in_child([&] {
              LocalOptions options;
              options.drain_slice_rows = 3;
              Engine* engine = open(options).release();
              for (int i = 1; i <= 10; ++i) put(*engine, numbered(i), "value");
              must(engine->sync());
              test_hooks::on_crash_point = [](std::string_view name) {
                if (name == "drain-slice") ::kill(::getpid(), SIGKILL);
              };
              (void)engine->checkpoint();
              return "not killed";
            }));
  journal_ = journal_with(numbered(5));
  std::string bytes = read_bytes(journal_);
  bytes[bytes.find(numbered(5))] ^= 1;
  write_bytes(journal_, bytes);
  LocalOptions options;
  options.salvage = true;
  EXPECT_EQ(11U, put(*open(options), "after", "salvage"));
  EXPECT_OK(open()->verify());
}

TEST_F(LocalSalvageTest, ReadOnlySalvageShowsTheSameAndWritesNothing) {
  damage_the_fifth();
  const Files before = files();
  LocalOptions options;
  options.read_only = true;
  EXPECT_CODE(kCorrupt, open_local(path_, options));
  options.salvage = true;
  Map expected;
  for (int i = 1; i <= 4; ++i) expected[numbered(i)] = "value";
  EXPECT_TRUE(holds(*open(options), expected));
  EXPECT_TRUE(before == files());
}

TEST_F(LocalSalvageTest, SalvageOfASoundStoreIsAnOrdinaryOpen) {
  make_store();
  LocalOptions options;
  options.salvage = true;
  EXPECT_TRUE(holds(*open(options), contents_));
  for (const auto& [name, bytes] : files()) EXPECT_FALSE(name.ends_with(".damaged")) << name;
}

}  // namespace
}  // namespace lapse::engine
