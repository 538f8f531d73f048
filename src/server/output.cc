#include "server/output.h"

#include "base/memory.h"

namespace lapse::server {

namespace {
constexpr size_t kKeptBytes = 64 << 10;  // an empty buffer larger than this is given back
}

void Output::drop_last() {
  empty_last();
  pieces_.pop_back();
}

void Output::settle_failed(std::string_view error_line) {
  if (pieces_.empty()) return;
  std::string settled = bytes_.substr(0, pieces_.front().begin);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const size_t end = i + 1 < pieces_.size() ? pieces_[i + 1].begin : bytes_.size();
    const std::string_view piece = std::string_view(bytes_).substr(pieces_[i].begin, end - pieces_[i].begin);
    if (pieces_[i].kind == Kind::kPlain) settled.append(piece);
    // A reply that was kept back (CLIENT REPLY OFF) stays away.
    if (pieces_[i].kind == Kind::kOfStore && !piece.empty()) settled.append(error_line);
  }
  bytes_ = std::move(settled);
  pieces_.clear();
}

void Output::discard() {
  pieces_.clear();
  bytes_.resize(sent_);
}

// A client that always has something left must not keep what it has been sent: the sent part goes when it is the larger
// one, so that each byte is moved once at most.
void Output::sent(size_t bytes) {
  sent_ += bytes;
  const size_t left = bytes_.size() - sent_;
  if (left > 0 && (sent_ < kKeptBytes || sent_ < left)) return;
  const bool replaced =
      bytes_.capacity() > kKeptBytes && has_memory_for([&] { std::string(bytes_, sent_).swap(bytes_); });
  if (!replaced) bytes_.erase(0, sent_);
  sent_ = 0;
}

}  // namespace lapse::server
