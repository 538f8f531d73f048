// Writing to a family, or to the store as its default one: lapse._lapse.Keyspace.

#include "keyspace_handle.h"

#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "classes.h"
#include "convert.h"
#include "errors.h"
#include "handle_class.h"

namespace lapse::python {

namespace {

using std::chrono::milliseconds;

// What put() and its kin are asked to write.
struct Write {
  Write(py::handle of_key, py::handle of_value, py::handle of_ttl)
      : key(of_key, "key"), value(of_value, "value"), lifetime(to_lifetime(of_ttl)) {}
  size_t bytes() const { return key.size() + value.size(); }

  Bytes key;
  Bytes value;
  Lifetime lifetime;
};

void put(KeyspaceHandle& self, const py::object& key, const py::object& value, const py::object& ttl) {
  const Write asked(key, value, ttl);
  self.write([&](Keyspace& keys) { return keys.put(asked.key, asked.value, asked.lifetime); });
  self.counters().add_put(asked.bytes());
}

// db[key] = value, and db[key, ttl] = value.
void set_item(KeyspaceHandle& self, const py::object& key, const py::object& value) {
  if (!PyTuple_Check(key.ptr())) return put(self, key, value, py::none());
  const auto pair = py::reinterpret_borrow<py::tuple>(key);
  if (pair.size() != 2) throw py::type_error("db[key] or db[key, ttl] expected");
  put(self, pair[0], value, pair[1]);
}

void erase(KeyspaceHandle& self, const py::object& key) {
  const Bytes name(key, "key");
  const bool was_there = self.write([&](Keyspace& keys) { return keys.erase(name); });
  if (!was_there) no_such_key(key);
  Counters::add(self.counters().deletes);
}

// `pairs`: tuples, in a list that nobody else has.
void put_many(KeyspaceHandle& self, const py::list& pairs, const py::object& ttl) {
  std::deque<Bytes> copies;
  std::vector<KeyValue> entries;
  size_t bytes = 0;
  entries.reserve(pairs.size());
  for (const auto& each : pairs) {
    const auto pair = py::cast<py::tuple>(each);
    if (pair.size() != 2) throw py::value_error("(key, value) expected");
    const std::string_view key = copies.emplace_back(pair[0], "key");
    const std::string_view value = copies.emplace_back(pair[1], "value");
    bytes += key.size() + value.size();
    entries.emplace_back(key, value);
  }
  const Lifetime lifetime = to_lifetime(ttl);
  self.write([&](Keyspace& keys) { return keys.multi_put(entries, lifetime); });
  self.counters().add_put(bytes, entries.size());
}

bool put_if_absent(KeyspaceHandle& self, const py::object& key, const py::object& value,
                   const py::object& ttl) {
  const Write asked(key, value, ttl);
  const bool written =
      self.write([&](Keyspace& keys) { return keys.put_if_absent(asked.key, asked.value, asked.lifetime); });
  if (written) self.counters().add_put(asked.bytes());
  return written;
}

// `expected` is a value, or as an int a revision.
template <typename OfRevision, typename OfValue>
bool on_expected(const py::object& expected, OfRevision of_revision, OfValue of_value) {
  if (PyLong_Check(expected.ptr())) return of_revision(to_count(expected, "expected"));
  return of_value(Bytes(expected, "expected"));
}

bool compare_and_set(KeyspaceHandle& self, const py::object& key, const py::object& expected,
                     const py::object& value, const py::object& ttl) {
  const Write asked(key, value, ttl);
  const bool written = on_expected(
      expected,
      [&](uint64_t revision) {
        return self.write([&](Keyspace& keys) {
          return keys.compare_and_set_revision(asked.key, revision, asked.value, asked.lifetime);
        });
      },
      [&](std::string_view before) {
        return self.write([&](Keyspace& keys) {
          return keys.compare_and_set(asked.key, before, asked.value, asked.lifetime);
        });
      });
  if (written) self.counters().add_put(asked.bytes());
  return written;
}

bool compare_and_delete(KeyspaceHandle& self, const py::object& key, const py::object& expected) {
  const Bytes name(key, "key");
  const bool removed = on_expected(
      expected,
      [&](uint64_t revision) {
        return self.write([&](Keyspace& keys) { return keys.compare_and_erase_revision(name, revision); });
      },
      [&](std::string_view before) {
        return self.write([&](Keyspace& keys) { return keys.compare_and_erase(name, before); });
      });
  if (removed) Counters::add(self.counters().deletes);
  return removed;
}

py::object incr(KeyspaceHandle& self, const py::object& key, const py::object& by, const py::object& ttl,
                const py::object& min, const py::object& max) {
  const Bytes name(key, "key");
  const int64_t more = to_integer(by, "by");
  IncrementOptions options;
  options.lifetime = to_lifetime(ttl);
  if (!min.is_none()) options.min = to_integer(min, "min");
  if (!max.is_none()) options.max = to_integer(max, "max");
  const Increment sum = self.write([&](Keyspace& keys) { return keys.increment(name, more, options); });
  if (!sum.applied) return py::none();
  self.counters().add_put(name.size() + std::to_string(sum.value).size());
  return py::int_(sum.value);
}

// For what changes a deadline, and so has to be told one.
Lifetime to_deadline(py::handle ttl) {
  const Lifetime lifetime = to_lifetime(ttl);
  if (lifetime.kind() == Lifetime::Kind::kTtl || lifetime.kind() == Lifetime::Kind::kUntil) return lifetime;
  throw py::type_error("ttl: seconds, timedelta or datetime expected, not " + std::string(py::repr(ttl)) +
                       "; persist() makes a key permanent");
}

py::object touch(KeyspaceHandle& self, const py::object& key, const py::object& ttl) {
  const Bytes name(key, "key");
  const Lifetime lifetime = to_deadline(ttl);
  const auto until = [&](Keyspace& keys) -> Result<std::optional<Entry>> {
    Result<std::optional<Entry>> entry = keys.get_entry(name);
    if (!entry.ok() || !*entry || (*entry)->deadline_ms == kNever) return entry;
    const Result<bool> changed = keys.expire_at(name, lifetime.ms());
    if (!changed.ok()) return changed.status();
    return entry;
  };
  const auto from_now = [&](Keyspace& keys) { return keys.touch(name, milliseconds(lifetime.ms())); };
  auto entry = lifetime.kind() == Lifetime::Kind::kUntil ? self.write_together(until) : self.write(from_now);
  const auto value = entry ? std::optional(std::move(entry->value)) : std::nullopt;
  self.counters().add_get(value);
  return bytes_or(value, py::none());
}

bool expire(KeyspaceHandle& self, const py::object& key, const py::object& ttl) {
  const Bytes name(key, "key");
  const Lifetime lifetime = to_deadline(ttl);
  return self.write([&](Keyspace& keys) {
    return lifetime.kind() == Lifetime::Kind::kUntil ? keys.expire_at(name, lifetime.ms())
                                                     : keys.expire(name, milliseconds(lifetime.ms()));
  });
}

uint64_t purge(KeyspaceHandle& self, const py::object& limit, const py::object& budget) {
  PurgeOptions options;
  if (!limit.is_none()) options.limit = to_count(limit, "limit");
  options.budget = to_duration(budget, kForever, "budget");
  const uint64_t removed = self.write([&](Keyspace& keys) { return keys.purge_expired(options); }).removed;
  Counters::add(self.counters().purged, removed);
  return removed;
}

bool restore(KeyspaceHandle& self, const py::object& key, const py::object& when, const py::object& ttl) {
  const Bytes name(key, "key");
  const int64_t at_ms = to_moment_ms(when, "when");
  const Lifetime lifetime = to_lifetime(ttl);
  const bool written = self.write([&](Keyspace& keys) { return keys.restore(name, at_ms, lifetime); });
  if (written) Counters::add(self.counters().puts);
  return written;
}

}  // namespace

void KeyspaceHandle::visit(const Visitor& visitor) {
  const auto scope = store_->scope();
  if (!scope) return family_ ? visitor(*family_, {}) : visitor(store_->store(), {});
  const Ground ground{scope, nullptr};
  scope->transaction ? visit_in(*scope->transaction, family_, ground, visitor)
                     : visit_in(*scope->snapshot, family_, ground, visitor);
}

void KeyspaceHandle::check_writable() const {
  const auto scope = store_->scope();
  if (scope && !scope->transaction)
    store_->fail({StatusCode::kReadOnly, "a read transaction is open in this thread: end it before writing"});
}

void define_keyspace(py::module_& module) {
  const py::arg_v no_ttl = py::arg("ttl") = py::none();
  HandleClass<KeyspaceHandle, ReaderHandle, std::shared_ptr<KeyspaceHandle>>(module, "Keyspace")
      .def("put", put, py::arg("key"), py::arg("value"), no_ttl,
           "Writes, whatever was there. Without a ttl the key is permanent, or takes the family's default.")
      .def("__setitem__", set_item)
      .def("delete", erase, py::arg("key"), "Removes the key. NotFoundError if it is not there.")
      .def("__delitem__", erase)
      .def("_put_many", put_many)
      .def("put_if_absent", put_if_absent, py::arg("key"), py::arg("value"), no_ttl,
           "Whether the key was absent, and so has been written.")
      .def("compare_and_set", compare_and_set, py::arg("key"), py::arg("expected"), py::arg("value"), no_ttl,
           "Whether the key held exactly `expected` (a value, or as an int a revision), and so has been "
           "written.")
      .def("compare_and_delete", compare_and_delete, py::arg("key"), py::arg("expected"),
           "Whether the key held exactly `expected`, and so has been removed.")
      .def("_get_and_set",
           [](KeyspaceHandle& self, const py::object& key, const py::object& value, const py::object& ttl) {
             const Write asked(key, value, ttl);
             const auto before = self.write(
                 [&](Keyspace& keys) { return keys.get_and_set(asked.key, asked.value, asked.lifetime); });
             self.counters().add_get(before);
             self.counters().add_put(asked.bytes());
             return bytes_or(before, py::none());
           })
      .def("_get_and_delete",
           [](KeyspaceHandle& self, const py::object& key) {
             const Bytes name(key, "key");
             const auto value = self.write([&](Keyspace& keys) { return keys.get_and_erase(name); });
             self.counters().add_get(value);
             if (value) Counters::add(self.counters().deletes);
             return bytes_or(value, py::none());
           })
      .def("incr", incr, py::arg("key"), py::arg("by") = 1, no_ttl, py::kw_only(),
           py::arg("min") = py::none(), py::arg("max") = py::none(),
           "Adds to a decimal integer, and gives the sum; an absent key counts as 0, and gets `ttl`. None, "
           "and nothing\n"
           "changed, if the sum would leave `min` to `max`.")
      .def(
          "append",
          [](KeyspaceHandle& self, const py::object& key, const py::object& suffix, const py::object& ttl) {
            const Bytes name(key, "key");
            const Bytes more(suffix, "suffix");
            const Lifetime lifetime = to_lifetime(ttl);
            const auto length = self.write([&](Keyspace& keys) { return keys.append(name, more, lifetime); });
            self.counters().add_put(name.size() + length);
            return length;
          },
          py::arg("key"), py::arg("suffix"), no_ttl,
          "Adds to the end of the value, which keeps its lifetime. The new length.")
      .def(
          "delete_prefix",
          [](KeyspaceHandle& self, const py::object& prefix) {
            const Bytes start(prefix, "prefix");
            const auto removed = self.write([&](Keyspace& keys) { return keys.erase_prefix(start); });
            Counters::add(self.counters().deletes, removed);
            return removed;
          },
          py::arg("prefix"), "Removes the keys that begin so. How many there were.")
      .def(
          "clear", [](KeyspaceHandle& self) { self.write([](Keyspace& keys) { return keys.clear(); }); },
          "Forgets everything, history included.")
      .def("touch", touch, py::arg("key"), py::arg("ttl"),
           "Reads, and gives the key `ttl` from now on, or until a datetime; a permanent key stays so. The "
           "value, or "
           "None.")
      .def("expire", expire, py::arg("key"), py::arg("ttl"),
           "Changes the deadline, not the value. Whether the key is there.")
      .def(
          "persist",
          [](KeyspaceHandle& self, const py::object& key) {
            const Bytes name(key, "key");
            return self.write([&](Keyspace& keys) { return keys.persist(name); });
          },
          py::arg("key"), "Makes the key permanent. Whether it was there and had a deadline.")
      .def("purge_expired", purge, py::kw_only(), py::arg("limit") = py::none(),
           py::arg("budget") = py::none(),
           "Removes what is due, at a cost that grows with what is removed. How many went.")
      .def(
          "purge_history",
          [](KeyspaceHandle& self) {
            return self.write([](Keyspace& keys) { return keys.purge_history(); });
          },
          "Trims every key's history by the family's policy. How many revisions went.")
      .def("restore", restore, py::arg("key"), py::arg("when"), no_ttl,
           "Writes the value that was visible at `when` again. False if there was none.");
}

}  // namespace lapse::python
