// Output: what goes to one client, and what of it depends on the commit of the turn.
//
// Replies leave after the turn's commit. Until then each stands as a piece that knows what is to become of it if the
// commit fails:
//
//   kPlain         stays: it says nothing about the store (PING, SUBSCRIBE, a published message)
//   kOfStore       the error takes its place: it has read or written what did not come to be
//   kNotification  goes: what it tells did not happen

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lapse::server {

class Output {
 public:
  enum class Kind { kPlain, kOfStore, kNotification };

  // Begins a piece, which is what is appended to bytes() until the next one begins.
  void begin(Kind kind) { pieces_.push_back({bytes_.size(), kind}); }
  // Says of the piece begun last that it is of the store.
  void depends_on_store() { pieces_.back().kind = Kind::kOfStore; }
  // Takes the piece begun last back, or what it holds.
  void drop_last();
  void empty_last() { bytes_.resize(pieces_.back().begin); }

  std::string& bytes() { return bytes_; }

  // The turn's commit has succeeded, or failed with this error.
  void settle() { pieces_.clear(); }
  void settle_failed(std::string_view error_line);
  // All that was not sent yet goes.
  void discard();

  // What may go out now; REQUIRES: settled
  std::string_view unsent() const { return std::string_view(bytes_).substr(sent_); }
  void sent(size_t bytes);
  size_t pending_bytes() const { return bytes_.size() - sent_; }

 private:
  struct Piece {
    size_t begin;
    Kind kind;
  };

  std::string bytes_;
  size_t sent_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace lapse::server
