#include "engine/local/key_order.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "base/coding.h"

namespace lapse::engine {

namespace {

constexpr size_t kMaxBlock = 8192;

KeyOrder::Run merged(const KeyOrder::Run& one, const KeyOrder::Run& other) {
  KeyOrder::Run both;
  both.reserve(one.size() + other.size());
  std::merge(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  return both;
}

}  // namespace

KeyPrefix KeyPrefix::of(std::string_view key) {
  const auto of_bytes = [](const char* bytes) {
    return KeyPrefix{{load_be64(bytes), load_be64(bytes + 8), load_be64(bytes + 16)}};
  };
  if (key.size() >= sizeof(KeyPrefix)) return of_bytes(key.data());
  char padded[sizeof(KeyPrefix)] = {};
  if (!key.empty()) std::memcpy(padded, key.data(), key.size());
  return of_bytes(padded);
}

// Filled from the front; the next one is there when it is full, or soon after.
struct KeyOrder::Block {
  explicit Block(size_t places_at_most) : capacity(places_at_most), places(new Place[places_at_most]) {}

  const size_t capacity;
  const std::unique_ptr<Place[]> places;
  std::atomic<size_t> filled{0};
  std::atomic<Block*> next{nullptr};
};

KeyOrder::KeyOrder(size_t first_block) : oldest_{new Block(first_block), 0}, newest_(oldest_.block) {}

KeyOrder::~KeyOrder() {
  while (oldest_.block != nullptr) delete std::exchange(oldest_.block, oldest_.block->next.load());
}

// ----------------------------------------------------------------------------------------- arrivals

void KeyOrder::reserve() {
  if (newest_->filled.load(std::memory_order_relaxed) < newest_->capacity) return;
  auto* block = new Block(std::min(2 * newest_->capacity, kMaxBlock));
  newest_->next.store(block, std::memory_order_release);
  newest_ = block;
}

void KeyOrder::add(BufferEntry* entry) {
  const size_t index = newest_->filled.load(std::memory_order_relaxed);
  assert(index < newest_->capacity);
  newest_->places[index] = {KeyPrefix::of(entry->key()), entry};
  newest_->filled.store(index + 1, std::memory_order_release);
}

// Copies what has arrived, and says where that ends. REQUIRES: order_mutex_
KeyOrder::Run KeyOrder::arrivals(Position* end) const {
  Run places;
  *end = oldest_;
  while (true) {
    const size_t filled = end->block->filled.load(std::memory_order_acquire);
    places.insert(places.end(), &end->block->places[end->index], &end->block->places[filled]);
    end->index = filled;
    Block* next = end->block->next.load(std::memory_order_acquire);
    if (filled < end->block->capacity || next == nullptr) return places;
    *end = {next, 0};
  }
}

// REQUIRES: order_mutex_
void KeyOrder::take_arrivals(const Position& end) {
  while (oldest_.block != end.block) delete std::exchange(oldest_.block, oldest_.block->next.load());
  oldest_ = end;
}

// ----------------------------------------------------------------------------------------- ordering

void KeyOrder::order() {
  std::lock_guard lock(order_mutex_);
  order_locked(Into::kRuns);
}

void KeyOrder::try_to_order() {
  const std::unique_lock lock(order_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  try {
    order_locked(Into::kRuns);
  } catch (const std::bad_alloc&) {  // whoever needs the order will try again
  }
}

void KeyOrder::order_in_one() {
  std::lock_guard lock(order_mutex_);
  order_locked(Into::kOneRun);
}

// REQUIRES: order_mutex_
void KeyOrder::order_locked(Into into) {
  Position end{};
  Run last = arrivals(&end);
  const size_t arrived = last.size();
  Runs runs = runs_ ? *runs_ : Runs();
  if (arrived == 0 && (into == Into::kRuns || runs.size() <= 1)) return;
  std::sort(last.begin(), last.end());
  const auto may_stay = [&](const Run& run) {
    return into == Into::kRuns && runs.size() < kMaxRuns && run.size() / kLonger >= last.size();
  };
  while (!runs.empty() && !may_stay(*runs.back())) {
    last = merged(*runs.back(), last);
    runs.pop_back();
  }
  runs.push_back(std::make_shared<const Run>(std::move(last)));
  std::shared_ptr<const Runs> made = std::make_shared<const Runs>(std::move(runs));
  // From here on nothing can fail.
  take_arrivals(end);
  {
    std::lock_guard lock(runs_mutex_);
    runs_.swap(made);
  }
  ordered_.store(ordered_.load(std::memory_order_relaxed) + arrived, std::memory_order_release);
}

std::shared_ptr<const KeyOrder::Runs> KeyOrder::runs() const {
  std::lock_guard lock(runs_mutex_);
  return runs_;
}

void KeyOrder::for_each(FunctionRef<void(const BufferEntry&)> visit) const {
  for (size_t run = 0; runs_ && run < runs_->size(); ++run) {
    for (const Place& place : *(*runs_)[run]) visit(*place.entry);
  }
  for (Position at = oldest_; at.block != nullptr; at = {at.block->next.load(std::memory_order_relaxed), 0}) {
    const size_t filled = at.block->filled.load(std::memory_order_relaxed);
    for (; at.index < filled; ++at.index) visit(*at.block->places[at.index].entry);
  }
}

// Keeps a block, so that it takes no memory.
void KeyOrder::reset() {
  take_arrivals({newest_, 0});
  newest_->filled.store(0, std::memory_order_relaxed);
  ordered_.store(0, std::memory_order_relaxed);
  runs_.reset();
}

// ------------------------------------------------------------------------------------------ walking

const KeyOrder::Place* KeyOrder::at_or_after(const Run& run, std::string_view key) {
  const KeyPrefix prefix = KeyPrefix::of(key);
  return std::partition_point(run.data(), run.data() + run.size(),
                              [&](const Place& place) { return place.comes_before(key, prefix); });
}

// Makes the nearest of the next places the one that it is at.
void KeyOrder::Walk::settle() {
  at_ = nullptr;
  for (size_t run = 0; run < count(); ++run) {
    const Place* place = next_[run];
    if (place == end_of(run) || (at_ != nullptr && *at_ < *place)) continue;
    at_ = place;
    run_ = run;
  }
}

void KeyOrder::Walk::seek(std::string_view key) {
  for (size_t run = 0; run < count(); ++run) next_[run] = at_or_after(*(*runs_)[run], key);
  settle();
}

void KeyOrder::Walk::first() {
  for (size_t run = 0; run < count(); ++run) next_[run] = begin_of(run);
  settle();
}

void KeyOrder::Walk::last() {
  for (size_t run = 0; run < count(); ++run) next_[run] = end_of(run);
  prev();
}

void KeyOrder::Walk::next() {
  ++next_[run_];
  settle();
}

// The nearest of those before the next places. Of the other runs, what was next still is: nothing of theirs lies between.
void KeyOrder::Walk::prev() {
  at_ = nullptr;
  for (size_t run = 0; run < count(); ++run) {
    if (next_[run] == begin_of(run)) continue;
    const Place* place = next_[run] - 1;
    if (at_ != nullptr && *place < *at_) continue;
    at_ = place;
    run_ = run;
  }
  if (at_ != nullptr) next_[run_] = at_;
}

// Entries lie in the order in which they came, so each is far from the next. Asked for together, they arrive together.
void KeyOrder::Walk::expect(size_t entries) const {
  if (at_ == nullptr) return;
  const Place* const end = at_ + std::min<size_t>(entries, static_cast<size_t>(end_of(run_) - at_));
  for (const Place* place = at_; place != end; ++place) place->entry->prefetch();
}

}  // namespace lapse::engine
