#include "engine/local/store_meta.h"

#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/random.h"

namespace lapse::engine {

namespace {
constexpr size_t kChecksumOffset = 88;
constexpr size_t kBytes = 96;
constexpr uint64_t kSeed = 0x4c415053454d4554ULL;
}  // namespace

std::string StoreMeta::encode() const {
  std::string out(kBytes, '\0');
  char* at = out.data();
  store_le(at, kStoreVersion);
  std::memcpy(at + 8, store_id.data(), store_id.size());
  store_le(at + 24, drained_sequence);
  store_le(at + 32, target_sequence);
  store_le(at + 40, first_file);
  store_le(at + 48, chain);
  store_le(at + 56, rows);
  store_le(at + 64, row_sum);
  store_le(at + 72, next_long_key_id);
  store_le(at + 80, txnid);
  store_le(at + kChecksumOffset, checksum({at, kChecksumOffset}, kSeed));
  return out;
}

Result<StoreMeta> StoreMeta::decode(std::string_view bytes) {
  const char* at = bytes.data();
  // First, since nothing else is known of a newer format, not even where its checksum is.
  if (bytes.size() >= sizeof(uint32_t) && load_le<uint32_t>(at) > kStoreVersion)
    return Status(StatusCode::kUnsupported, "written by a newer version of Lapse");
  if (bytes.size() < kBytes ||
      load_le<uint64_t>(at + kChecksumOffset) != checksum(bytes.substr(0, kChecksumOffset), kSeed))
    return Status(StatusCode::kCorrupt, "the row that describes the store is damaged");
  StoreMeta meta;
  std::memcpy(meta.store_id.data(), at + 8, meta.store_id.size());
  meta.drained_sequence = load_le<uint64_t>(at + 24);
  meta.target_sequence = load_le<uint64_t>(at + 32);
  meta.first_file = load_le<uint64_t>(at + 40);
  meta.chain = load_le<uint64_t>(at + 48);
  meta.rows = load_le<uint64_t>(at + 56);
  meta.row_sum = load_le<uint64_t>(at + 64);
  meta.next_long_key_id = load_le<uint64_t>(at + 72);
  meta.txnid = load_le<uint64_t>(at + 80);
  return meta;
}

StoreId new_store_id() {
  StoreId id;
  store_le(id.data(), random_u64());
  store_le(id.data() + 8, random_u64());
  return id;
}

}  // namespace lapse::engine
