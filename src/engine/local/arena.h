// Arena: memory that is handed out in pieces and freed all at once. Pieces never move, so that readers
// may follow pointers into it while the one writer goes on allocating.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lapse::engine {

class Arena {
 public:
  // 8-byte aligned.
  char* allocate(size_t bytes) {
    bytes = (bytes + 7) & ~size_t{7};
    used_bytes_ += bytes;
    if (bytes > left_) return allocate_block(bytes);
    char* piece = next_;
    next_ += bytes;
    left_ -= bytes;
    return piece;
  }

  size_t used_bytes() const { return used_bytes_; }

  // Forgets every piece, and keeps one block for the next use.
  void reset() {
    if (blocks_.size() > 1) blocks_.resize(1);
    used_bytes_ = 0;
    next_ = blocks_.empty() ? nullptr : blocks_[0].get();
    left_ = blocks_.empty() ? 0 : kFirstBlockBytes;
  }

 private:
  static constexpr size_t kFirstBlockBytes = 16 << 10;
  static constexpr size_t kBlockBytes = 1 << 20;

  char* allocate_block(size_t bytes) {
    // Large pieces get a block of their own, and the current one stays in use. The first block is always
    // of the one size that reset() knows.
    if (!blocks_.empty() && bytes > kBlockBytes / 4) return add_block(bytes);
    const size_t block_bytes = blocks_.empty() ? kFirstBlockBytes : kBlockBytes;
    char* block = add_block(block_bytes);
    if (bytes > block_bytes) return add_block(bytes);
    next_ = block + bytes;
    left_ = block_bytes - bytes;
    return block;
  }

  char* add_block(size_t bytes) {
    blocks_.emplace_back(new char[bytes]);
    return blocks_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t used_bytes_ = 0;
};

}  // namespace lapse::engine
