#include "model_run.h"

#include <algorithm>

namespace lapse {

// ------------------------------------------------------------------------------------------- the kinds

struct ModelKinds {
  struct Kind {
    const char* name;
    void (ModelRun::*run)(const ModelOp&);
    int weight;
  };
  static const std::vector<Kind>& all() {
    static const std::vector<Kind> kinds = {
        {"write_key", &ModelRun::write_key, 20},
        {"compare_key", &ModelRun::compare_key, 6},
        {"compute_key", &ModelRun::compute_key, 6},
        {"erase_keys", &ModelRun::erase_keys, 7},
        {"change_lifetime", &ModelRun::change_lifetime, 8},
        {"touch", &ModelRun::touch, 4},
        {"restore", &ModelRun::restore, 3},
        {"read_key", &ModelRun::read_key, 10},
        {"purge", &ModelRun::purge, 4},
        {"purge_all", &ModelRun::purge_all, 1},
        {"purge_history", &ModelRun::purge_history, 2},
        {"write_batch", &ModelRun::write_batch, 2},
        {"begin", &ModelRun::begin, 6},
        {"commit", &ModelRun::commit, 4},
        {"roll_back", &ModelRun::roll_back, 2},
        {"set_savepoint", &ModelRun::set_savepoint, 4},
        {"roll_back_to", &ModelRun::roll_back_to, 3},
        {"failed_update", &ModelRun::failed_update, 1},
        {"take_snapshot", &ModelRun::take_snapshot, 2},
        {"run_clock", &ModelRun::run_clock, 12},
        {"leap", &ModelRun::leap, 2},
        {"go_back", &ModelRun::go_back, 3},
        {"clear", &ModelRun::clear, 1},
        {"make_family_anew", &ModelRun::make_family_anew, 1},
        {"swap_families", &ModelRun::swap_families, 1},
        {"reopen", &ModelRun::reopen, 1},
        {"checkpoint", &ModelRun::checkpoint, 1},
        {"compare_copy", &ModelRun::compare_copy, 1},
        {"verify", &ModelRun::verify, 1},
        {"change_policies", &ModelRun::change_policies, 2},
    };
    return kinds;
  }
  static const Kind& numbered(int number) {
    for (const Kind& kind : all()) {
      if (number < kind.weight) return kind;
      number -= kind.weight;
    }
    return all().front();
  }
};

int ModelOp::kinds() {
  int sum = 0;
  for (const auto& kind : ModelKinds::all()) sum += kind.weight;
  return sum;
}

std::ostream& operator<<(std::ostream& out, const ModelOp& op) {
  return out << ModelKinds::numbered(op.kind).name << "(" << family_of(op.family) << ", \""
             << abbreviate(key_of(op.key)) << "\", " << op.a << ", " << op.b << ") {" << op.kind << ","
             << op.family << "," << op.key << "," << op.a << "," << op.b << "}";
}

// -------------------------------------------------------------------------------------------- the run

ModelRun::ModelRun(const StoreConfig& config, int compare_every)
    : memory_(config.memory), options_(config.options), compare_every_(compare_every) {
  options_.clock = &clock_;
  open();
  for (const auto& [name, options] : family_pool()) {
    if (name != "default") must(store_->create_family(name, options));
    state_.emplace(name, model::Family(options));
  }
  catch_up(next_moment());
}

void ModelRun::open() {
  store_.emplace(
      must(memory_ ? Store::open_in_memory(options_) : Store::open(dir_.file("model.db"), options_)));
}

void ModelRun::close() {
  open_.reset();
  kept_.clear();
  must(store_->close());
  store_.reset();
}

void ModelRun::step(const ModelOp& op) {
  (this->*ModelKinds::numbered(op.kind).run)(op);
  if (++steps_ % compare_every_ == 0) compare_everything(op.a + op.b);
}

void ModelRun::finish() {
  open_.reset();
  compare_everything(0);
  must(store_->verify());
  close();
}

model::Moment ModelRun::next_moment() {
  const int64_t now_ms = clock_.now_ms();
  return {now_ms, std::max(now_ms, last_written_at_ms_), last_revision_ + 1};
}

// After a step at `at`: were there commits, and which due keys has the store removed by the way?
void ModelRun::catch_up(const model::Moment& at) {
  const uint64_t revision = store_->stats().last_revision;
  if (revision < last_revision_) throw std::runtime_error("the numbering went back");
  if (revision != last_revision_) last_written_at_ms_ = std::max(last_written_at_ms_, at.written_at_ms);
  last_revision_ = revision;

  const int64_t now_ms = clock_.now_ms();
  clock_.set(0);
  const Snapshot all = must(store_->snapshot());
  clock_.set(now_ms);
  for (auto& [name, family] : state_) {
    const Reader reader = all.in(must(store_->family(name)));
    for (const std::string& key : key_pool()) {
      const model::Row* row = family.stored(key);
      const auto found = must(reader.get_entry(key));
      if (found && !row)
        throw std::runtime_error(name + ": " + abbreviate(key) + " is stored, and should not be");
      if (found || !row) continue;
      if (row->is_visible(at.now_ms)) throw std::runtime_error(name + ": " + abbreviate(key) + " is lost");
      family.remove_expired(key, at);
    }
  }
}

// In the transaction, if there is one.
ModelRun::Target ModelRun::target(const ModelOp& op) {
  const std::string& name = family_of(op.family);
  lapse::Family family = must(store_->family(name));
  if (open_) return {this, name, open_->transaction.in(family), &open_->state.at(name), open_->at};
  return {this, name, family, &state_.at(name), next_moment()};
}

ModelRun::Target ModelRun::writing_target(const ModelOp& op) {
  Target to = target(op);
  Sweep own;
  sweep(open_ ? &open_->sweep : &own, to.name, to.family, to.at);
  return to;
}

void ModelRun::sweep(Sweep* sweep, const std::string& name, model::Family* family, const model::Moment& at) {
  if (!sweep->families.insert(name).second) return;
  sweep->removed += remove_due(
      family, options_.sweep_per_write - std::min<uint64_t>(options_.sweep_per_write, sweep->removed), at);
}

uint64_t ModelRun::remove_due(model::Family* family, uint64_t limit, const model::Moment& at) {
  return at.now_ms <= clock_.now_ms() ? family->purge_expired(limit, at) : 0;
}

// ----------------------------------------------------------------------------------------- transactions

void ModelRun::write_batch(const ModelOp& op) {
  if (open_) return;
  const model::Moment at = next_moment();
  WriteBatch batch;
  Sweep swept;
  for (int i = 0; i < 1 + op.b % 4; ++i) {
    const std::string& name = family_of(op.family + i * op.a);
    const std::string& key = key_of(op.key + i * op.b);
    const lapse::Family family = must(store_->family(name));
    sweep(&swept, name, &state_.at(name), at);
    if ((op.a + i) % 4 == 0) {
      batch.erase(family, key);
      state_.at(name).erase(key, at);
    } else {
      const Lifetime lifetime = lifetime_of(op.a + i, at.now_ms);
      batch.put(family, key, value_of(op.b + i), lifetime);
      state_.at(name).put(key, value_of(op.b + i), lifetime, at);
    }
  }
  expect("write", "ok", answer(store_->write(batch)));
  catch_up(at);
}

void ModelRun::begin(const ModelOp&) {
  if (open_) {
    expect("begin in a transaction", "Busy", answer(store_->begin().status()));
    return;
  }
  open_ = std::make_unique<Open>(Open{must(store_->begin()), state_, next_moment(), {}, {}});
  expect("revision()", text(open_->at.revision), text(open_->transaction.revision()));
  expect("now_ms()", text(open_->at.now_ms), text(open_->transaction.now_ms()));
}

void ModelRun::commit(const ModelOp&) {
  if (!open_) return;
  const uint64_t number = must(open_->transaction.commit());
  if (number != open_->at.revision && number != last_revision_)
    throw std::runtime_error("commit() gave a wrong number");
  state_ = std::move(open_->state);
  const model::Moment at = open_->at;
  open_.reset();
  catch_up(at);
}

void ModelRun::roll_back(const ModelOp& op) {
  if (!open_) return;
  if (op.a % 2 == 0) open_->transaction.rollback();
  open_.reset();
  catch_up(next_moment());
}

void ModelRun::set_savepoint(const ModelOp&) {
  if (open_) open_->savepoints.emplace_back(open_->transaction.savepoint(), open_->state);
}

void ModelRun::roll_back_to(const ModelOp& op) {
  if (!open_ || open_->savepoints.empty()) return;
  open_->savepoints.resize(1 + static_cast<size_t>(op.a) % open_->savepoints.size(),
                           open_->savepoints.front());
  must(open_->transaction.rollback_to(open_->savepoints.back().first));
  open_->state = open_->savepoints.back().second;
}

void ModelRun::failed_update(const ModelOp& op) {
  if (open_) return;
  const Status status = store_->update([&](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.in(must(store_->family(family_of(op.family)))).put(key_of(op.key), "never", 1s));
    return {StatusCode::kNotFound, "on purpose"};
  });
  expect("update", "NotFound", answer(status));
  catch_up(next_moment());
}

void ModelRun::take_snapshot(const ModelOp&) {
  if (kept_.size() == 3) kept_.erase(kept_.begin());
  kept_.push_back({must(store_->snapshot()), state_, clock_.now_ms()});
}

// ----------------------------------------------------------------------------------------------- clock

void ModelRun::run_clock(const ModelOp& op) { clock_.advance(1 + op.a % 20); }
void ModelRun::leap(const ModelOp& op) { clock_.advance(op.a * 5); }
void ModelRun::go_back(const ModelOp& op) { clock_.set(std::max<int64_t>(1, clock_.now_ms() - op.a)); }

// ------------------------------------------------------------------------------------- the whole store

void ModelRun::make_family_anew(const ModelOp& op) {
  const std::string& name = family_of(op.family);
  if (open_ || name == "default") return;
  const model::Moment at = next_moment();
  const FamilyOptions options = state_.at(name).options;
  const lapse::Family dropped = must(store_->family(name));
  must(store_->drop_family(name));
  expect("get in a dropped family", "NotFound", answer(dropped.get("a")));
  must(store_->create_family(name, options));
  expect("get in a dropped family", "NotFound", answer(dropped.get("a")));
  state_.at(name).clear();
  catch_up(at);
}

void ModelRun::change_policies(const ModelOp& op) {
  const std::string& name = family_of(op.family);
  const FamilyOptions options = with_policies_of(op.a, state_.at(name).options);
  if (open_) {
    expect("set_family_options in a transaction", "Busy", answer(store_->set_family_options(name, options)));
    return;
  }
  const model::Moment at = next_moment();
  must(store_->set_family_options(name, options));
  state_.at(name).options = options;
  catch_up(at);
}

void ModelRun::swap_families(const ModelOp& op) {
  const std::string& a = family_of(op.family);
  const std::string& b = family_of(op.a);
  if (open_ || a == b) return;
  const model::Moment at = next_moment();
  must(store_->swap_families(a, b));
  std::swap(state_.at(a), state_.at(b));
  catch_up(at);
}

void ModelRun::reopen(const ModelOp&) {
  if (memory_) return;
  const model::Moment at = next_moment();
  close();
  open();
  catch_up(at);
  last_written_at_ms_ = remembered_time();
  compare_everything(0);
}

// The date of the latest commit, as the store still knows it. It may have forgotten those of the last second, but none
// of a revision. Found by asking for the past by a clock at which everything is in the future.
int64_t ModelRun::remembered_time() {
  int64_t known_ms = 0;
  for (const auto& [name, family] : state_) {
    if (shows_revisions(family)) known_ms = std::max(known_ms, family.latest_date_ms());
  }
  const int64_t now_ms = clock_.now_ms();
  clock_.set(0);
  must(store_->snapshot_at(known_ms));
  for (int64_t unknown_ms = last_written_at_ms_ + 1; unknown_ms - known_ms > 1;) {
    const int64_t middle_ms = known_ms + (unknown_ms - known_ms) / 2;
    (store_->snapshot_at(middle_ms).ok() ? known_ms : unknown_ms) = middle_ms;
  }
  clock_.set(now_ms);
  return known_ms;
}

void ModelRun::checkpoint(const ModelOp&) {
  if (!open_) must(store_->checkpoint());
}

void ModelRun::compare_copy(const ModelOp& op) {
  if (open_ || op.a % 4 != 0) return;
  const TempDir dir;
  must(store_->compact_to(dir.file("copy.db")));
  const Store copy = must(Store::open(dir.file("copy.db"), options_));
  const Snapshot snapshot = must(copy.snapshot());
  for (const auto& [name, family] : state_) {
    compare("copy of " + name, snapshot.in(must(copy.family(name))), family, clock_.now_ms());
  }
  must(copy.verify());
}

void ModelRun::verify(const ModelOp&) { must(store_->verify()); }

}  // namespace lapse
