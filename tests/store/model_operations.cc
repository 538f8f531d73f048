// The steps that change or read keys, in the transaction if there is one.

#include <algorithm>
#include <charconv>

#include "model_run.h"

namespace lapse {

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
  const std::string removed = text(remove_due(to.family, limit, to.at));
  const PurgeResult result = must(to.keyspace.purge_expired({.limit = limit}));
  to.done("purge_expired", removed, text(result.removed));
  // Or whoever purges when next_deadline() says would never come to rest.
  if (!open_ && limit == std::numeric_limits<uint64_t>::max()) {
    const int64_t next_ms = must(to.keyspace.next_deadline());
    expect(to.name + ": next_deadline is in the future", "true", text(next_ms > to.at.now_ms));
  }
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
  switch (op.b % 7) {
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
    case 4: expect_not_too_late(to.name, *to.family, to.keyspace); return to.done("next_deadline", "", "");
    case 5:
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

}  // namespace lapse
