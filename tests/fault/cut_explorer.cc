#include "cut_explorer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/try.h"
#include "io_hooks.h"
#include "order_checker.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

constexpr uint64_t kImagesPerRecovery = 12;

// What the marks up to here promise.
void widen(const IoEvent& event, uint64_t* floor, uint64_t* ceiling) {
  if (event.kind != IoEventKind::kMark) return;
  switch (event.mark) {
    case Mark::kCommitBegin: *ceiling = std::max(*ceiling, event.value); break;
    case Mark::kAcknowledged:
      if (event.full) *floor = std::max(*floor, event.value);
      break;
    case Mark::kDurable:
    case Mark::kOpened:
    case Mark::kClosed: *floor = std::max(*floor, event.value); break;
    case Mark::kRefused:
    case Mark::kNone: break;
  }
}

// What may be found at each point of a record: the history as it was to be, or where a commit was under way that would be
// refused, as it would have been with that.
class HistoryAtCut {
 public:
  explicit HistoryAtCut(const RecordedRun& run) : run_(run) {}

  // Past the event before `cut`, which must be the next one.
  void advance_to(size_t cut) {
    if (cut == 0) return;
    const IoEvent& event = run_.record.events[cut - 1];
    if (event.kind != IoEventKind::kMark) return;
    if (event.mark == Mark::kRefused) refused_.reset();
    if (event.mark == Mark::kCommitBegin && ends_in_refusal(cut))
      refused_ = run_.history.before_refusal(event.value, refusals_[event.value]++);
  }
  const History& get() const { return refused_ ? *refused_ : run_.history; }

 private:
  // Of the commit whose beginning is the event before `cut`.
  bool ends_in_refusal(size_t cut) const {
    const uint64_t sequence = run_.record.events[cut - 1].value;
    for (size_t i = cut; i < run_.record.events.size(); ++i) {
      const IoEvent& event = run_.record.events[i];
      if (event.kind != IoEventKind::kMark || event.value != sequence) continue;
      if (event.mark == Mark::kRefused) return true;
      if (event.mark == Mark::kAcknowledged || event.mark == Mark::kCommitBegin) return false;
    }
    return false;
  }

  const RecordedRun& run_;
  std::map<uint64_t, size_t> refusals_;  // of each number, so far
  std::optional<History> refused_;
};

}  // namespace

std::string CutExplorer::describe_cut(size_t cut, size_t events, CutStyle style) const {
  return "cut at " + std::to_string(cut) + " of " + std::to_string(events) +
         ", style: " + std::string(cut_style_name(style)) + ", generation " + std::to_string(generation_) +
         "\n";
}

std::string CutExplorer::explore(const RecordedRun& run, uint64_t images, int generations) {
  DiskModel model(run.record);
  Bounds bounds{run.floor, run.ceiling};
  HistoryAtCut history(run);
  const size_t events = run.record.events.size();
  const size_t cuts = events - run.first_cut + 1;
  for (size_t i = 0; i < cuts; ++i) {
    const size_t cut = run.first_cut + i;
    model.advance_to(cut);
    history.advance_to(cut);
    if (cut > 0) widen(run.record.events[cut - 1], &bounds.floor, &bounds.ceiling);
    uint64_t here = images * (i + 1) / cuts - images * i / cuts;
    while (here > 0) {
      const auto style = static_cast<CutStyle>(random_.below(kCutStyles));
      const uint64_t image_seed = random_.next();
      FileImage image = model.image(style, image_seed);
      put_lock_file(&image, run);
      std::string wrong;
      if (generations > 1 && images > kImagesPerRecovery && random_.one_in(images / 5 + 1)) {
        const bool killed = style == CutStyle::kEverything;
        wrong = explore_recovery(run, history.get(), cut, killed ? model.page_cache() : image, killed, bounds,
                                 kImagesPerRecovery, generations - 1);
      } else {
        wrong = check_image(image, history.get(), bounds);
      }
      if (!wrong.empty()) return describe_cut(cut, events, style) + wrong;
      --here;
    }
  }
  return "";
}

std::string CutExplorer::explore_everything(const RecordedRun& run, uint64_t seeds) {
  DiskModel model(run.record);
  Bounds bounds{run.floor, run.ceiling};
  HistoryAtCut history(run);
  const size_t events = run.record.events.size();
  for (size_t cut = 0; cut <= events; ++cut) {
    model.advance_to(cut);
    history.advance_to(cut);
    if (cut > 0) widen(run.record.events[cut - 1], &bounds.floor, &bounds.ceiling);
    std::set<FileImage> seen;  // many are the same
    for (uint64_t i = 0; i < kCutStyles * seeds; ++i) {
      const auto style = static_cast<CutStyle>(i % kCutStyles);
      const auto [image, is_new] = seen.insert(model.image(style, random_.next()));
      const std::string wrong = is_new ? check_image(*image, history.get(), bounds) : "";
      if (!wrong.empty()) return describe_cut(cut, events, style) + wrong;
    }
  }
  return "";
}

std::string CutExplorer::explore_kills(const RecordedRun& run, uint64_t kills, uint64_t images) {
  DiskModel model(run.record);
  Bounds bounds{run.floor, run.ceiling};
  HistoryAtCut history(run);
  const size_t events = run.record.events.size();
  for (size_t cut = 1; cut <= events; ++cut) {
    model.advance_to(cut);
    history.advance_to(cut);
    widen(run.record.events[cut - 1], &bounds.floor, &bounds.ceiling);
    if (kills * cut / events == kills * (cut - 1) / events) continue;
    const std::string wrong =
        explore_recovery(run, history.get(), cut, model.page_cache(), true, bounds, images, 1);
    if (!wrong.empty()) {
      return "kill at " + std::to_string(cut) + " of " + std::to_string(events) + "\n" + wrong;
    }
  }
  return "";
}

// LMDB's lock file is mapped and never synced: it may hold anything it ever held.
void CutExplorer::put_lock_file(FileImage* image, const RecordedRun& run) {
  const auto lock = image->find(store_ + "-lock");
  if (lock != image->end() && !run.lock_file_bytes.empty() && random_.one_in(3)) {
    lock->second = run.lock_file_bytes;
  }
}

namespace {

std::string outside(uint64_t found, uint64_t floor, uint64_t ceiling) {
  if (found >= floor && found <= ceiling) return "";
  return "opened at commit " + std::to_string(found) + ", but it must be at least " + std::to_string(floor) +
         " and at most " + std::to_string(ceiling);
}

// What must work in every opened image.
Status use(StoreDriver& driver) {
  LAPSE_TRY(driver.engine().verify());
  LAPSE_TRY(driver.commit_random());
  return driver.check_state();
}

}  // namespace

// Returns the last commit that a read-only open shows; it must change nothing.
Result<uint64_t> CutExplorer::look_read_only(const History& history) {
  const FileImage before = read_directory(directory_);
  StoreDriver driver(path(), 1, history);
  engine::LocalOptions options;
  options.read_only = true;
  LAPSE_TRY(driver.open(options));
  LAPSE_TRY(driver.engine().verify());
  const uint64_t last = driver.history().size();
  LAPSE_TRY(driver.close());
  for (const auto& [name, contents] : read_directory(directory_)) {
    const auto old = before.find(name);
    if (old != before.end() && old->second != contents) {
      return Status(StatusCode::kCorrupt, "a read-only open changed " + name);
    }
  }
  return last;
}

std::string CutExplorer::check_image(const FileImage& image, const History& history, const Bounds& bounds) {
  ++counters_->images;
  if (generation_ > 1) ++counters_->later_generations;
  write_directory(directory_, image);
  engine::LocalOptions options = odd_options(random_);
  options.salvage = random_.one_in(8);  // of no effect where nothing is damaged
  const auto explain = [&](const std::string& what) { return what + "\n" + describe(options); };
  std::optional<uint64_t> seen;
  if (image.contains(store_) && random_.one_in(8)) {
    const Result<uint64_t> looked = look_read_only(history);
    if (!looked.ok()) return explain("read-only: " + looked.status().to_string());
    seen = *looked;
  }
  StoreDriver driver(path(), random_.next(), history);
  if (const Status opened = driver.open(options); !opened.ok()) {
    return explain("open: " + opened.to_string());
  }
  const uint64_t found = driver.history().size();
  if (seen && *seen != found) return explain("read-only it was at commit " + std::to_string(*seen));
  if (found < bounds.ceiling) ++counters_->shortened;
  if (std::string wrong = outside(found, bounds.floor, bounds.ceiling); !wrong.empty()) {
    return explain(wrong);
  }
  if (const Status used = use(driver); !used.ok()) return explain("use: " + used.to_string());
  if (const Status closed = driver.close(); !closed.ok()) {
    return explain("close: " + closed.to_string());
  }
  if (!random_.one_in(4)) return "";
  const Status again = driver.open(options);
  if (!again.ok()) return explain("second open: " + again.to_string());
  if (driver.history().size() != found + 1) return explain("lost commits at a clean reopen");
  return "";
}

std::string CutExplorer::explore_recovery(const RecordedRun& run, const History& history, size_t cut,
                                          const FileImage& image, bool killed, const Bounds& bounds,
                                          uint64_t images, int generations) {
  write_directory(directory_, image);
  IoWatch watch(directory_);
  StoreDriver driver(path(), random_.next(), history);
  const engine::LocalOptions options = odd_options(random_);
  const auto explain = [&](const std::string& what) {
    return what + "\n" + (killed ? "after a kill" : "after a cut") + ", recovery: " + describe(options);
  };
  Status status = driver.open(options);
  if (!status.ok()) return explain("open: " + status.to_string());
  const uint64_t found = driver.history().size();
  if (std::string wrong = outside(found, bounds.floor, bounds.ceiling); !wrong.empty()) {
    return explain(wrong);
  }
  for (uint64_t left = random_.below(12); left > 0 && status.ok(); --left) {
    status = driver.random_step();
  }
  if (status.ok()) status = driver.close();
  if (!status.ok()) return explain("use: " + status.to_string());

  RecordedRun next{.record = watch.take(),
                   .history = driver.history(),
                   .floor = bounds.floor,
                   .ceiling = found,
                   .lock_file_bytes = driver.lock_file_bytes()};
  if (std::string wrong = check_replay(next.record); !wrong.empty()) return explain(wrong);
  if (killed) {
    // The disk need not hold what the successor saw. The first record's promises still hold, and
    // are in `floor`; its marks must not count against the shorter history.
    next.record = continue_record(run.record, cut, next.record);
    for (size_t i = 0; i < cut; ++i) next.record.events[i].mark = Mark::kNone;
    next.first_cut = cut;
  }
  const OrderReport order = check_order(next.record, next.history, store_);
  if (!order.violations.empty()) return explain(order.violations.front());
  ++generation_;
  const std::string wrong = explore(next, images, generations);
  --generation_;
  return wrong.empty() ? "" : explain(wrong);
}

}  // namespace lapse::fault
