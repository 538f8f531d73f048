// Starvation: allocations that fail on demand. Not together with sanitizers, which have an operator new of their own.

#pragma once

namespace lapse {

// While it lives, this thread gets `allowed` allocations, and none after those. One at a time.
class Starvation {
 public:
  explicit Starvation(int allowed);
  ~Starvation();
  Starvation(const Starvation&) = delete;
  Starvation& operator=(const Starvation&) = delete;

  // Whether there was memory left. Ends it.
  static bool ended_with_some_left();
};

}  // namespace lapse
