// What both benchmarks do with RocksDB in the same way.

#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "bench/rival.h"

namespace lapse::bench::rocks {

inline void must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error("rocksdb: " + status.ToString());
}

inline rocksdb::Slice to_slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view to_view(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

inline rocksdb::Options make_options() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kReadCacheBytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = kWriteBufferBytes;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

inline uint64_t property(rocksdb::DB* db, const char* name) {
  uint64_t value = 0;
  db->GetIntProperty(name, &value);
  return value;
}

inline void wait_for_compactions(rocksdb::DB* db) {
  while (property(db, "rocksdb.compaction-pending") + property(db, "rocksdb.num-running-compactions") > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace lapse::bench::rocks
