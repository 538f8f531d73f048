// Input: the bytes of a client that have not been run yet. Those at its front go when they are done with; the rest moves up
// only when it is the smaller part, so that a long pipeline does not cost more the longer it is.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lapse::server {

class Input {
 public:
  std::string_view unread() const { return std::string_view(bytes_).substr(done_); }
  bool empty() const { return done_ == bytes_.size(); }
  size_t size() const { return bytes_.size() - done_; }
  size_t capacity() const { return bytes_.capacity(); }

  void append(std::string_view bytes) { bytes_.append(bytes); }
  void remove(size_t bytes) {
    done_ += bytes;
    if (done_ <= bytes_.size() / 2) return;
    bytes_.erase(0, done_);
    done_ = 0;
  }
  void release() {
    std::string().swap(bytes_);
    done_ = 0;
  }

 private:
  std::string bytes_;
  size_t done_ = 0;
};

}  // namespace lapse::server
