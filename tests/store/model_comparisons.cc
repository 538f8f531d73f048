// All that can be seen of a store, beside what the model has.

#include <algorithm>

#include "model_run.h"

namespace lapse {

void ModelRun::compare_everything(int salt) {
  const Snapshot snapshot = must(store_->snapshot());
  for (const auto& [name, family] : state_) {
    const Reader reader = snapshot.in(must(store_->family(name)));
    compare(name, reader, family, clock_.now_ms());
    if (family.options.history) compare_past(name, reader, family, clock_.now_ms(), salt);
    if (open_) {
      const lapse::Family mine = open_->transaction.in(must(store_->family(name)));
      compare(name + " in the transaction", mine, open_->state.at(name), open_->at.now_ms);
    }
  }
  for (const Kept& kept : kept_) {
    for (const auto& [name, family] : kept.state) {
      // Families that were dropped or swapped since are no longer there under their names.
      const auto handle = store_->family(name);
      const auto found = kept.snapshot.in(*handle).count();
      if (found.ok()) compare(name + " in a snapshot", kept.snapshot.in(*handle), family, kept.now_ms);
    }
  }
}

void ModelRun::compare(const std::string& name, const Reader& reader, const model::Family& family,
                       int64_t now_ms) {
  const bool revisions = shows_revisions(family);
  const auto all = family.all_visible(now_ms);
  expect(name + ", forward", show_all(all.begin(), all.end(), revisions), walk(reader, {}, revisions));
  expect(name + ", back", show_all(all.rbegin(), all.rend(), revisions),
         walk(reader, {.reverse = true}, revisions));
  expect(name + ", count", text(uint64_t{all.size()}), answer(reader.count()));
  if (family.options.counted) {
    expect(name + ", estimated_count", text(uint64_t{family.stored_count()}),
           answer(reader.estimated_count()));
  }
  std::string due;
  for (const Expiring& each : family.expiring(0, kNever, now_ms)) {
    due += (due.empty() ? "" : " ") + abbreviate(each.key) + "@" + text(each.deadline_ms);
  }
  expect(name + ", expiring", due, expiring(reader));
  expect(name + ", forecast", text(family.forecast(20, 5, now_ms)), answer(reader.forecast(20ms, 5)));
  expect_not_too_late(name, family, reader);
  for (const std::string& key : key_pool()) {
    const std::string what = name + ", " + abbreviate(key);
    const model::Row* row = family.visible(key, now_ms);
    const auto entry = must(reader.get_entry(key));
    expect(what, row ? "there" : "absent", entry ? "there" : "absent");
    if (row) {
      expect(what + ", value", abbreviate(row->value), abbreviate(entry->value));
      expect(what + ", deadline", text(row->deadline_ms), text(entry->deadline_ms));
      expect(what + ", revision", text(revisions ? row->revision : 0), text(entry->revision));
      expect(what + ", written_at", text(revisions ? row->written_at_ms : 0), text(entry->written_at_ms));
    }
    if (family.options.history) compare_history(what, reader, family, key, now_ms);
  }
}

void ModelRun::compare_history(const std::string& what, const Reader& reader, const model::Family& family,
                               const std::string& key, int64_t now_ms) {
  std::string past;
  for (const Revision& each : family.history(key, now_ms)) {
    past += (past.empty() ? "" : " ") + to_string(each);
    if (each.revision % 4 != static_cast<uint64_t>(steps_) / 4 % 4) continue;  // the others another time
    const auto found = must(reader.get_revision(key, each.revision));
    expect(what + ", revision " + text(each.revision), to_string(each), found ? to_string(*found) : "absent");
  }
  expect(what + ", history", past, history(reader, key));
  expect(what + ", a revision to come", "absent",
         must(reader.get_revision(key, last_revision_ + 2)) ? "there" : "absent");
}

void ModelRun::compare_past(const std::string& name, const Reader& reader, const model::Family& family,
                            int64_t now_ms, int salt) {
  std::vector<int64_t> moments = {now_ms, std::max<int64_t>(0, now_ms - salt),
                                  std::max(now_ms, last_written_at_ms_)};
  for (const std::string& key : key_pool()) {  // where something begins or ends
    for (const Revision& each : family.history(key, now_ms)) {
      if (static_cast<int>(each.revision % 4) != salt % 4) continue;
      for (const int64_t at_ms : {each.written_at_ms, each.ended_at_ms - 1, each.ended_at_ms}) {
        if (at_ms >= 0 && at_ms <= now_ms) moments.push_back(at_ms);
      }
    }
  }
  for (size_t i = 0; i < moments.size(); ++i) {
    const int64_t at_ms = moments[i];
    const std::string when = name + " at " + text(at_ms);
    for (const std::string& key : key_pool()) {
      expect(when + ", " + abbreviate(key), text(family.get_at(key, at_ms)),
             answer(reader.get_at(key, at_ms)));
    }
    if (i >= 6) continue;  // whole scans cost more
    std::string all;
    for (const auto& [key, value] : family.all_at(at_ms)) {
      all += (all.empty() ? "" : " ") + abbreviate(key) + "=" + abbreviate(value);
    }
    const Snapshot then = must(store_->snapshot_at(at_ms));
    const lapse::Family handle = must(store_->family(name));
    expect(when + ", forward", all, contents(then.in(handle)));
    expect(when + ", back", turned(all), reversed_contents(then.in(handle)));
  }
}

}  // namespace lapse
