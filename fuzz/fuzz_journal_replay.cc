// Feeds arbitrary bytes to journal replay as one or two files, as they are and with their checksums put right (else
// the fuzzer would never get behind one). Whatever they hold, replay ends without reading outside them, and what it
// delivers is a chain of consecutive commits.

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/coding.h"
#include "engine/local/journal_format.h"
#include "engine/local/journal_recovery.h"

namespace {

using namespace lapse;          // NOLINT(google-build-using-namespace)
using namespace lapse::engine;  // NOLINT(google-build-using-namespace)

void require(bool condition) {
  if (!condition) std::abort();
}

void replay(const std::vector<JournalImage>& images, const ReplayStart& start) {
  uint64_t last = start.drained_sequence;
  const Result<ReplayEnd> end = replay_journal(images, start, [&](const Record& record) -> Status {
    require(record.sequence == last + 1);
    last = record.sequence;
    std::string_view payload = record.payload;
    size_t bytes = 0;
    while (const std::optional<Write> write = take_write(&payload)) {
      bytes += write->key.size() + (write->value ? write->value->size() : 0);
    }
    require(bytes <= record.payload.size());
    return {};
  });
  if (!end.ok()) return;
  require(end->last_sequence == last);
  require(!end->clean || end->damage.ok());
}

// Lays the input out as a file whose headers and records carry right checksums: each byte of it decides what comes next.
std::string build_file(std::string_view input, uint64_t number, uint64_t* sequence, uint64_t* chain) {
  JournalHeader header;
  header.salt = 42 + number;
  header.file_number = number;
  header.first_sequence = *sequence + 1;
  header.chain = *chain;
  header.synced_sequence = *sequence;
  std::string file = header.encode();
  file.resize(kJournalHeaderStride);
  file += header.encode();
  file.resize(kJournalRecordsOffset);
  while (input.size() >= 2) {
    const auto kind = static_cast<uint8_t>(input[0]);
    const size_t bytes = std::min<size_t>(static_cast<uint8_t>(input[1]), input.size() - 2);
    std::string record(kRecordHeaderBytes, '\0');
    record.append(input.substr(2, bytes));
    input.remove_prefix(2 + bytes);
    const uint64_t next = *sequence + 1 + (kind % 16 == 1 ? 1 : 0);  // now and then a gap
    const uint64_t sum =
        seal_record(&record, header.salt, next, *sequence - (kind % 4), *chain + (kind % 32 == 2));
    if (kind % 8 == 3) record[kind % record.size()] ^= 1;  // or damage
    file += record;
    *sequence = next;
    *chain = sum;
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view first = input.substr(0, size / 2);
  const std::string_view second = input.substr(size / 2);
  replay({{"raw", input}}, {});
  replay({{"raw1", first}, {"raw2", second}}, {});

  uint64_t sequence = 10;
  uint64_t chain = 7;
  const ReplayStart start{
      .drained_sequence = sequence, .first_file = 1, .chain = chain, .synced_sequence = sequence};
  const std::string file1 = build_file(first, 1, &sequence, &chain);
  const std::string file2 = build_file(second, 2, &sequence, &chain);
  replay({{"1", file1}, {"2", file2}}, start);
  replay({{"2", file2}, {"1", file1}}, start);
  replay({{"1", std::string_view(file1).substr(0, file1.size() - first.size() / 3)}, {"2", file2}}, start);
  return 0;
}
