#include "model_run.h"

#include <algorithm>
#include <charconv>

namespace lapse {

namespace {

const std::vector<std::string>& key_pool() {
  static const std::vector<std::string> pool = {"a", "ab", "b", "", std::string("a\0", 2), "\xff"};
  return pool;
}

const std::vector<std::pair<std::string, FamilyOptions>>& family_pool() {
  static const std::vector<std::pair<std::string, FamilyOptions>> pool = [] {
    std::vector<std::pair<std::string, FamilyOptions>> families(6);
    families[0].first = "default";
    families[1].first = "past";
    families[1].second.history = HistoryPolicy{};
    families[2].first = "last three";
    families[2].second.history = HistoryPolicy{.keep_last = 3};
    families[2].second.counted = true;
    families[3].first = "two seconds";
    families[3].second.history = HistoryPolicy{.keep_last = 10, .keep_for = 2s};
    families[4].first = "counted";
    families[4].second.counted = true;
    families[5].first = "policies";
    families[5].second.revisions = true;
    families[5].second.default_ttl = 100ms;
    families[5].second.max_ttl = 2s;
    return families;
  }();
  return pool;
}

const std::string& key_of(int number) { return key_pool()[static_cast<size_t>(number) % key_pool().size()]; }
const std::string& family_of(int number) {
  return family_pool()[static_cast<size_t>(number) % family_pool().size()].first;
}

std::string value_of(int number) {
  static const std::vector<std::string> pool = {"1", "-7", "text", "", "9223372036854775800"};
  return number % 3 == 0 ? std::to_string(number) : pool[static_cast<size_t>(number) % pool.size()];
}

Lifetime lifetime_of(int number, int64_t now_ms) {
  const int size = number / 8;
  switch (number % 8) {
    case 0:
    case 1: return {};
    case 2: return std::chrono::milliseconds(1 + size);
    case 3: return std::chrono::milliseconds(1 + size * 20);
    case 4: return std::chrono::milliseconds(1 + size % 10);
    case 5: return Lifetime::until(std::max<int64_t>(1, now_ms + size - 40));
    case 6: return Lifetime::keep();
    default: return Lifetime::forever();
  }
}

std::string text(bool value) { return value ? "true" : "false"; }
std::string text(int64_t value) { return std::to_string(value); }
std::string text(uint64_t value) { return std::to_string(value); }
std::string text(const std::optional<std::string>& value) {
  return value ? "'" + abbreviate(*value) + "'" : "nothing";
}
std::string text(const Increment& value) { return text(value.value) + (value.applied ? "" : " not applied"); }

// What a call answered: the value, or the name of the error.
std::string answer(const Status& status) {
  return status.ok() ? "ok" : std::string(status_code_name(status.code()));
}
template <typename T>
std::string answer(const Result<T>& result) {
  return result.ok() ? text(*result) : answer(result.status());
}

void expect(const std::string& what, const std::string& model, const std::string& store) {
  if (model != store) throw std::runtime_error(what + ": the model says " + model + ", the store " + store);
}

std::string show(const std::string& key, const model::Row& row, bool with_revision) {
  return abbreviate(key) + "=" + abbreviate(row.value) + "@" +
         (row.deadline_ms == kNever ? "never" : text(row.deadline_ms)) +
         (with_revision ? "#" + text(row.revision) : "") + " ";
}

// Everything that an iterator shows: "key=value@deadline#revision …".
std::string walk(const Reader& reader, const IterateOptions& options, bool with_revision) {
  std::string all;
  Iterator iterator = must(reader.iterate(options));
  for (; iterator.valid(); iterator.next()) {
    model::Row row;
    row.value = iterator.value();
    row.deadline_ms = iterator.deadline_ms();
    row.revision = iterator.revision();
    if (!with_revision && row.revision != 0)
      throw std::runtime_error("a revision where there should be none");
    all += show(std::string(iterator.key()), row, with_revision);
  }
  must(iterator.status());
  return all;
}

template <typename Iterator>
std::string show_all(Iterator begin, Iterator end, bool with_revision) {
  std::string all;
  for (; begin != end; ++begin) all += show(begin->first, begin->second, with_revision);
  return all;
}

bool shows_revisions(const model::Family& family) {
  return family.options.revisions || family.options.history;
}

}  // namespace

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

struct ModelRun::Target {
  ModelRun* run;
  std::string name;
  lapse::Family keyspace;
  model::Family* family;
  model::Moment at;

  // Both have done it: what did they say? And if it was a transaction of its own, what else happened?
  void done(const std::string& what, const std::string& model, const std::string& store) {
    expect(name + ": " + what, model, store);
    if (!run->open_) run->catch_up(at);
  }
};

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
  sweep->removed += family->purge_expired(
      options_.sweep_per_write - std::min<uint64_t>(options_.sweep_per_write, sweep->removed), at);
}

// ---------------------------------------------------------------------------------------------- writes

void ModelRun::write_key(const ModelOp& op) {
  Target to = writing_target(op);
  const std::string& key = key_of(op.key);
  const std::string value = value_of(op.b);
  const Lifetime lifetime = lifetime_of(op.a, to.at.now_ms);
  const model::Row* row = to.family->visible(key, to.at.now_ms);
  const Value before = row ? Value(row->value) : Value();
  switch (op.b % 5) {
    case 0:
    case 1:
      to.family->put(key, value, lifetime, to.at);
      return to.done("put", "ok", answer(to.keyspace.put(key, value, lifetime)));
    case 2: {
      const std::string& other = key_of(op.key + 1 + op.b / 10);
      to.family->put(key, value, lifetime, to.at);
      to.family->put(other, "other", lifetime, to.at);
      const std::vector<KeyValue> entries = {{key, value}, {other, "other"}};
      return to.done("multi_put", "ok", answer(to.keyspace.multi_put(entries, lifetime)));
    }
    case 3:
      if (!before) to.family->put(key, value, lifetime, to.at);
      return to.done("put_if_absent", text(!before), answer(to.keyspace.put_if_absent(key, value, lifetime)));
    default:
      to.family->put(key, value, lifetime, to.at);
      return to.done("get_and_set", text(before), answer(to.keyspace.get_and_set(key, value, lifetime)));
  }
}

void ModelRun::compare_key(const ModelOp& op) {
  if (op.b % 4 >= 2 && !shows_revisions(*target(op).family)) return;
  Target to = writing_target(op);
  const std::string& key = key_of(op.key);
  const Lifetime lifetime = lifetime_of(op.a, to.at.now_ms);
  const model::Row* row = to.family->visible(key, to.at.now_ms);
  const bool right = op.b % 3 != 0;  // whether what is expected is there, if anything is
  const std::string expected = row && right ? row->value : "something else";
  const uint64_t revision = row && right ? row->revision : 1'000'000;
  const std::string matches = text(row && right);
  auto put = [&] {
    if (row && right) to.family->put(key, "compared", lifetime, to.at);
  };
  auto erase = [&] {
    if (row && right) to.family->erase(key, to.at);
  };
  switch (op.b % 4) {
    case 0:
      put();
      return to.done("compare_and_set", matches,
                     answer(to.keyspace.compare_and_set(key, expected, "compared", lifetime)));
    case 1:
      erase();
      return to.done("compare_and_erase", matches, answer(to.keyspace.compare_and_erase(key, expected)));
    case 2:
      put();
      return to.done("compare_and_set_revision", matches,
                     answer(to.keyspace.compare_and_set_revision(key, revision, "compared", lifetime)));
    default:
      erase();
      return to.done("compare_and_erase_revision", matches,
                     answer(to.keyspace.compare_and_erase_revision(key, revision)));
  }
}

void ModelRun::compute_key(const ModelOp& op) {
  const model::Family unchanged = *target(op).family;
  Target to = writing_target(op);
  const std::string& key = key_of(op.key);
  const Lifetime lifetime = lifetime_of(op.a, to.at.now_ms);
  const model::Row* row = to.family->visible(key, to.at.now_ms);
  const std::string before = row ? row->value : "";
  const Lifetime given = row ? Lifetime::keep() : lifetime;
  if (op.b % 2 == 0) {
    const std::string suffix = std::to_string(op.b % 10);
    to.family->put(key, before + suffix, given, to.at);
    return to.done("append", text(before.size() + suffix.size()),
                   answer(to.keyspace.append(key, suffix, lifetime)));
  }
  const IncrementOptions options{
      .lifetime = lifetime, .min = -100, .max = std::numeric_limits<int64_t>::max() - op.b};
  const int64_t by = op.b - 400;
  int64_t present = 0;
  int64_t sum = 0;
  const char* const end = before.data() + before.size();
  const auto parsed = std::from_chars(before.data(), end, present);
  const bool is_integer = !row || (parsed.ec == std::errc() && parsed.ptr == end);
  std::string expected = "InvalidArgument";
  if (is_integer && !__builtin_add_overflow(present, by, &sum)) {
    const bool applied = sum >= options.min && sum <= options.max;
    if (applied) to.family->put(key, std::to_string(sum), given, to.at);
    expected = text(Increment{applied ? sum : present, applied});
  } else {
    *to.family = unchanged;  // what fails does not sweep, either
  }
  to.done("increment", expected, answer(to.keyspace.increment(key, by, options)));
}

void ModelRun::erase_keys(const ModelOp& op) {
  Target to = writing_target(op);
  const std::string& key = key_of(op.key);
  auto erase_all = [&](const std::function<bool(const std::string&)>& is_meant) {
    uint64_t erased = 0;
    for (const std::string& each : key_pool()) {
      if (is_meant(each)) erased += to.family->erase(each, to.at) ? 1 : 0;
    }
    return text(erased);
  };
  switch (op.b % 6) {
    case 0: {
      const std::string erased = erase_all([&](const std::string& each) { return each.starts_with(key); });
      return to.done("erase_prefix", erased, answer(to.keyspace.erase_prefix(key)));
    }
    case 1: {
      const std::string& other = key_of(op.a);
      const std::string& from = std::min(key, other);
      const std::string& end = std::max(key, other);
      const std::string erased =
          erase_all([&](const std::string& each) { return from <= each && each < end; });
      return to.done("erase_range", erased, answer(to.keyspace.erase_range(from, end)));
    }
    case 2: {
      const model::Row* row = to.family->visible(key, to.at.now_ms);
      const Value before = row ? Value(row->value) : Value();
      if (row) to.family->erase(key, to.at);
      return to.done("get_and_erase", text(before), answer(to.keyspace.get_and_erase(key)));
    }
    default: {
      const bool was_there = to.family->erase(key, to.at);
      return to.done("erase", text(was_there), answer(to.keyspace.erase(key)));
    }
  }
}

// ------------------------------------------------------------------------------------------- lifetimes

void ModelRun::change_lifetime(const ModelOp& op) {
  Target to = writing_target(op);
  const std::string& key = key_of(op.key);
  const model::Row* row = to.family->visible(key, to.at.now_ms);
  const int64_t now_ms = to.at.now_ms;

  auto change = [&](Lifetime lifetime, const std::function<bool(int64_t present_ms, int64_t new_ms)>& may) {
    const int64_t deadline_ms = std::max(now_ms, to.family->deadline_for(lifetime, now_ms, nullptr));
    const bool changed = row && may(row->deadline_ms, deadline_ms);
    if (changed) to.family->set_deadline(key, deadline_ms);
    return text(changed);
  };
  if (op.b % 4 == 0) {
    const std::string changed =
        change(Lifetime::forever(), [](int64_t present_ms, int64_t) { return present_ms != kNever; });
    return to.done("persist", changed, answer(to.keyspace.persist(key)));
  }
  const Only only = static_cast<Only>(op.b / 4 % 5);
  auto may = [&](int64_t present_ms, int64_t new_ms) {
    switch (only) {
      case Only::kAlways: return true;
      case Only::kIfNone: return present_ms == kNever;
      case Only::kIfAny: return present_ms != kNever;
      case Only::kIfLater: return new_ms > present_ms;
      case Only::kIfSooner: return new_ms < present_ms;
    }
    return false;
  };
  if (op.b % 4 == 1) {
    const int64_t deadline_ms = std::max<int64_t>(1, now_ms + op.a - 100);
    const std::string changed = change(Lifetime::until(deadline_ms), may);
    return to.done("expire_at", changed, answer(to.keyspace.expire_at(key, deadline_ms, only)));
  }
  const std::chrono::milliseconds ttl(1 + op.a);
  const std::string changed = change(ttl, may);
  to.done("expire", changed, answer(to.keyspace.expire(key, ttl, only)));
}

void ModelRun::touch(const ModelOp& op) {
  Target to = target(op);
  const std::string& key = key_of(op.key);
  const int64_t now_ms = to.at.now_ms;
  const std::chrono::milliseconds ttl(1 + op.a);
  TouchOptions options;
  if (op.b % 2 == 0) options.if_left_below = std::chrono::milliseconds(op.b);
  if (op.b % 3 == 0) options.not_past_ms = now_ms + 1 + op.b;

  const model::Row* row = to.family->visible(key, now_ms);
  std::string expected = "nothing";
  if (row) {
    if (row->deadline_ms != kNever &&
        std::chrono::milliseconds(row->deadline_ms - now_ms) < options.if_left_below) {
      writing_target(op);
      row = to.family->visible(key, now_ms);
      to.family->set_deadline(key,
                              std::min(to.family->deadline_for(ttl, now_ms, nullptr), options.not_past_ms));
    }
    expected = row->value + "@" + text(row->deadline_ms);
  }
  const auto entry = must(to.keyspace.touch(key, ttl, options));
  to.done("touch", expected, entry ? entry->value + "@" + text(entry->deadline_ms) : "nothing");
}

void ModelRun::purge(const ModelOp& op) {
  Target to = target(op);
  const uint64_t limit =
      op.a % 2 == 0 ? static_cast<uint64_t>(op.b % 4) : std::numeric_limits<uint64_t>::max();
  const std::string removed = text(to.family->purge_expired(limit, to.at));
  const PurgeResult result = must(to.keyspace.purge_expired({.limit = limit}));
  to.done("purge_expired", removed, text(result.removed));
}

void ModelRun::purge_all(const ModelOp&) {
  if (open_) return;
  const model::Moment at = next_moment();
  uint64_t removed = 0;
  for (auto& [name, family] : state_)
    removed += family.purge_expired(std::numeric_limits<uint64_t>::max(), at);
  expect("purge_all_expired", text(removed), text(must(store_->purge_all_expired()).removed));
  catch_up(at);
}

// ---------------------------------------------------------------------------------------------- history

void ModelRun::purge_history(const ModelOp& op) {
  Target to = writing_target(op);
  const std::string purged = text(to.family->purge_history(to.at));
  to.done("purge_history", purged, answer(to.keyspace.purge_history()));
}

void ModelRun::restore(const ModelOp& op) {
  if (!target(op).family->options.history) return;
  Target to = writing_target(op);
  const std::string& key = key_of(op.key);
  const int64_t at_ms = std::max<int64_t>(0, to.at.written_at_ms - op.b);
  const Lifetime lifetime = lifetime_of(op.a, to.at.now_ms);
  const Value value = to.family->get_at(key, at_ms);
  if (value) to.family->put(key, *value, lifetime, to.at);
  to.done("restore", text(value.has_value()), answer(to.keyspace.restore(key, at_ms, lifetime)));
}

// --------------------------------------------------------------------------------------- plain reads

// Outside of transactions these remove what has expired.
void ModelRun::read_key(const ModelOp& op) {
  Target to = target(op);
  if (open_ && op.a % 3 == 0) {  // beside the transaction
    to.keyspace = must(store_->family(to.name));
    to.family = &state_.at(to.name);
    to.at.now_ms = clock_.now_ms();
  }
  const int64_t now_ms = to.at.now_ms;
  const std::string& key = key_of(op.key);
  const model::Row* row = to.family->visible(key, now_ms);
  const Value value = row ? Value(row->value) : Value();
  switch (op.b % 6) {
    case 0: return to.done("get", text(value), answer(to.keyspace.get(key)));
    case 1: return to.done("exists", text(row != nullptr), answer(to.keyspace.exists(key)));
    case 2: {
      const auto left = must(to.keyspace.ttl(key));
      const bool permanent = row && row->deadline_ms == kNever;
      return to.done("ttl",
                     !row        ? "none"
                     : permanent ? "forever"
                                 : text(row->deadline_ms - now_ms),
                     !left               ? "none"
                     : *left == kForever ? "forever"
                                         : text(int64_t{left->count()}));
    }
    case 3: {
      std::vector<std::string_view> asked(key_pool().begin(), key_pool().end());
      std::string model;
      std::string store;
      for (const std::string& each : key_pool()) {
        const model::Row* found = to.family->visible(each, now_ms);
        model += text(found ? Value(found->value) : Value());
      }
      for (const Value& each : must(to.keyspace.multi_get(asked))) store += text(each);
      return to.done("multi_get", model, store);
    }
    case 4:
      return to.done("count", text(uint64_t{to.family->all_visible(now_ms).size()}),
                     answer(to.keyspace.count()));
    default: {
      IterateOptions options;
      options.reverse = op.a % 2 == 1;
      if (op.a % 5 == 0) options.prefix = key;
      if (op.a % 7 == 0) options.from = key_of(op.a);
      if (op.a % 11 == 0) options.to = key_of(op.b);
      auto all = to.family->all_visible(now_ms);
      std::erase_if(all, [&](const auto& entry) {
        return !entry.first.starts_with(options.prefix) || (options.from && entry.first < *options.from) ||
               (options.to && entry.first >= *options.to);
      });
      const bool revisions = shows_revisions(*to.family);
      const std::string model = options.reverse ? show_all(all.rbegin(), all.rend(), revisions)
                                                : show_all(all.begin(), all.end(), revisions);
      return to.done("iterate", model, walk(to.keyspace, options, revisions));
    }
  }
}

void ModelRun::clear(const ModelOp& op) {
  Target to = writing_target(op);
  to.family->clear();
  to.done("clear", "ok", answer(to.keyspace.clear()));
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

// ------------------------------------------------------------------------------------------ comparisons

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
    if (!family.options.history) continue;
    std::string past;
    for (const Revision& each : family.history(key, now_ms)) {
      past += (past.empty() ? "" : " ") + to_string(each);
    }
    expect(what + ", history", past, history(reader, key));
  }
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
