#include "engine/local/journal_format.h"

#include <cassert>
#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "engine/engine.h"

namespace lapse::engine {

namespace {

constexpr std::string_view kHeaderMagic = "LAPSEJNL";
constexpr size_t kHeaderChecksumOffset = 80;
constexpr uint64_t kHeaderSeed = 0x4c41505345484452ULL;
constexpr size_t kRecordChecksumOffset = 32;
constexpr char kPut = 1;
constexpr char kErase = 2;

uint64_t record_checksum(std::string_view first_fields, std::string_view payload, uint64_t salt) {
  return checksum(first_fields, payload, salt);
}

std::optional<JournalHeader> decode_header(std::string_view copy) {
  if (copy.size() < kHeaderChecksumOffset + 8 || !copy.starts_with(kHeaderMagic)) return std::nullopt;
  const char* at = copy.data();
  if (load_le<uint64_t>(at + kHeaderChecksumOffset) !=
      checksum(copy.substr(0, kHeaderChecksumOffset), kHeaderSeed))
    return std::nullopt;
  JournalHeader header;
  std::memcpy(header.store_id.data(), at + 16, header.store_id.size());
  header.salt = load_le<uint64_t>(at + 32);
  header.file_number = load_le<uint64_t>(at + 40);
  header.first_sequence = load_le<uint64_t>(at + 48);
  header.chain = load_le<uint64_t>(at + 56);
  header.synced_sequence = load_le<uint64_t>(at + 64);
  header.clean = load_le<uint64_t>(at + 72) != 0;
  return header;
}

uint32_t version_of(std::string_view copy) { return load_le<uint32_t>(copy.data() + 8); }

// A header that was being written when the power went holds, byte for byte, zeros or the magic.
bool may_be_torn_magic(std::string_view copy) {
  for (size_t i = 0; i < kHeaderMagic.size(); ++i) {
    if (i < copy.size() && copy[i] != 0 && copy[i] != kHeaderMagic[i]) return false;
  }
  return true;
}

}  // namespace

std::string JournalHeader::encode() const {
  std::string out(kJournalHeaderCopyBytes, '\0');
  char* at = out.data();
  std::memcpy(at, kHeaderMagic.data(), kHeaderMagic.size());
  store_le(at + 8, kJournalVersion);
  std::memcpy(at + 16, store_id.data(), store_id.size());
  store_le(at + 32, salt);
  store_le(at + 40, file_number);
  store_le(at + 48, first_sequence);
  store_le(at + 56, chain);
  store_le(at + 64, synced_sequence);
  store_le(at + 72, uint64_t{clean});
  store_le(at + kHeaderChecksumOffset,
           checksum(std::string_view(out).substr(0, kHeaderChecksumOffset), kHeaderSeed));
  return out;
}

HeaderPair decode_headers(std::string_view file) {
  HeaderPair pair;
  bool any_torn = false;
  for (size_t copy = 0; copy < 2; ++copy) {
    const size_t offset = copy * kJournalHeaderStride;
    if (file.size() < offset + kJournalHeaderCopyBytes) {
      any_torn = true;
      continue;
    }
    const std::string_view bytes = file.substr(offset, kJournalHeaderCopyBytes);
    any_torn |= may_be_torn_magic(bytes);
    const std::optional<JournalHeader> header = decode_header(bytes);
    if (!header) continue;
    if (version_of(bytes) != kJournalVersion) {
      pair.state = HeaderPair::State::kUnsupported;
      return pair;
    }
    const auto rank = [](const JournalHeader& h) { return std::pair(h.file_number, h.clean); };
    if (pair.state != HeaderPair::State::kValid || rank(*header) > rank(pair.header)) pair.header = *header;
    pair.state = HeaderPair::State::kValid;
  }
  if (pair.state == HeaderPair::State::kNone && !any_torn) pair.state = HeaderPair::State::kForeign;
  return pair;
}

uint32_t record_magic(uint64_t salt) { return static_cast<uint32_t>(checksum("record", salt)) | 1U; }

size_t record_bytes(size_t payload_bytes) { return (kRecordHeaderBytes + payload_bytes + 7) & ~size_t{7}; }

size_t Record::file_bytes() const { return record_bytes(payload.size()); }

uint64_t seal_record(std::string* record, uint64_t salt, uint64_t sequence, uint64_t synced_sequence,
                     uint64_t chain) {
  assert(record->size() >= kRecordHeaderBytes);
  const size_t payload_bytes = record->size() - kRecordHeaderBytes;
  char* at = record->data();
  store_le(at, record_magic(salt));
  store_le(at + 4, static_cast<uint32_t>(payload_bytes));
  store_le(at + 8, sequence);
  store_le(at + 16, synced_sequence);
  store_le(at + 24, chain);
  const uint64_t sum =
      record_checksum({at, kRecordChecksumOffset}, {at + kRecordHeaderBytes, payload_bytes}, salt);
  store_le(at + kRecordChecksumOffset, sum);
  record->resize(record_bytes(payload_bytes), '\0');
  return sum;
}

std::optional<Record> decode_record(std::string_view file, size_t offset, uint64_t salt) {
  if (offset > file.size() || file.size() - offset < kRecordHeaderBytes) return std::nullopt;
  const char* at = file.data() + offset;
  if (load_le<uint32_t>(at) != record_magic(salt)) return std::nullopt;
  const size_t payload_bytes = load_le<uint32_t>(at + 4);
  if (payload_bytes > file.size() - offset - kRecordHeaderBytes) return std::nullopt;
  Record record;
  record.payload = {at + kRecordHeaderBytes, payload_bytes};
  record.checksum = load_le<uint64_t>(at + kRecordChecksumOffset);
  if (record.checksum != record_checksum({at, kRecordChecksumOffset}, record.payload, salt))
    return std::nullopt;
  record.sequence = load_le<uint64_t>(at + 8);
  record.synced_sequence = load_le<uint64_t>(at + 16);
  record.chain = load_le<uint64_t>(at + 24);
  return record;
}

size_t encoded_write_bytes(size_t key_bytes, size_t value_bytes) {
  return 1 + varint_size(key_bytes) + varint_size(value_bytes) + key_bytes + value_bytes;
}

void append_write(std::string* payload, const Write& write) {
  char head[21];
  char* end = head;
  *end++ = write.value ? kPut : kErase;
  end = store_varint(end, write.key.size());
  if (write.value) end = store_varint(end, write.value->size());
  payload->append(head, end);
  payload->append(write.key);
  if (write.value) payload->append(*write.value);
}

std::optional<Write> take_write(std::string_view* payload) {
  if (payload->empty()) return std::nullopt;
  const char kind = payload->front();
  if (kind != kPut && kind != kErase) return std::nullopt;
  payload->remove_prefix(1);
  const auto take_bytes = [payload](uint64_t bytes) {
    const std::string_view piece = payload->substr(0, bytes);
    payload->remove_prefix(bytes);
    return piece;
  };
  const std::optional<uint64_t> key_bytes = take_varint(payload);
  if (!key_bytes || *key_bytes > kMaxKeyBytes) return std::nullopt;
  std::optional<uint64_t> value_bytes = 0;
  if (kind == kPut) value_bytes = take_varint(payload);
  if (!value_bytes || *value_bytes > kMaxValueBytes) return std::nullopt;
  if (*key_bytes + *value_bytes > payload->size()) return std::nullopt;
  Write write;
  write.key = take_bytes(*key_bytes);
  if (kind == kPut) write.value = take_bytes(*value_bytes);
  return write;
}

}  // namespace lapse::engine
