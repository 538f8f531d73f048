#include "handles.h"

#include <pybind11/stl.h>

#include <deque>
#include <string>
#include <vector>

#include "convert.h"

namespace lapse::python {

namespace {

using std::chrono::milliseconds;
using StorePointer = std::shared_ptr<StoreHandle>;

py::object none_if_never(int64_t ms) { return ms == kNever ? py::object(py::none()) : py::int_(ms); }

const char* ending_name(Ending ending) {
  switch (ending) {
    case Ending::kNone: return nullptr;
    case Ending::kOverwritten: return "overwritten";
    case Ending::kErased: return "erased";
    case Ending::kExpired: return "expired";
  }
  return nullptr;
}

// The tuples that lapse/_types.py gives names to.
py::tuple tuple_of(const Entry& entry) {
  return py::make_tuple(to_bytes(entry.value), none_if_never(entry.deadline_ms), entry.revision,
                        entry.written_at_ms);
}

py::tuple tuple_of(const Revision& revision) {
  return py::make_tuple(to_bytes(revision.value), revision.revision, revision.written_at_ms,
                        none_if_never(revision.ended_at_ms), ending_name(revision.ending),
                        none_if_never(revision.deadline_ms));
}

// A value with its dates that was asked for.
template <typename T>
py::object counted(Counters& counters, const std::optional<T>& found) {
  counters.add_get(found ? std::optional<std::string_view>(found->value) : std::nullopt);
  return found ? py::object(tuple_of(*found)) : py::none();
}

// ------------------------------------------------------------------------------------------- reading

std::optional<std::string> get(ReaderHandle& self, py::handle key) {
  const Bytes wanted(key, "key");
  std::optional<std::string> value = self.read([&](const Reader& reader) { return reader.get(wanted); });
  self.counters().add_get(value);
  return value;
}

py::object get_item(ReaderHandle& self, const py::object& key) {
  const auto value = get(self, key);
  if (!value) no_such_key(key);
  return to_bytes(*value);
}

bool exists(ReaderHandle& self, const py::object& key) {
  const Bytes wanted(key, "key");
  return self.read([&](const Reader& reader) { return reader.exists(wanted); });
}

py::object ttl(ReaderHandle& self, const py::object& key) {
  const Bytes wanted(key, "key");
  const auto left = self.read([&](const Reader& reader) { return reader.ttl(wanted); });
  if (!left) no_such_key(key);
  return seconds_or_none(*left);
}

// Always a new one: py::list(…) of a list is that list, which another thread may change, and with it what it keeps alive.
py::list copy_of(const py::iterable& items) {
  PyObject* const list = PySequence_List(items.ptr());
  if (list == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::list>(list);
}

py::list get_many(ReaderHandle& self, const py::iterable& keys) {
  const py::list held = copy_of(keys);
  std::deque<Bytes> copies;
  std::vector<std::string_view> views;
  for (const auto& key : held) views.push_back(copies.emplace_back(key, "key"));
  const auto values = self.read([&](const Reader& reader) { return reader.multi_get(views); });
  py::list list;
  for (const auto& value : values) {
    self.counters().add_get(value);
    list.append(bytes_or(value, py::none()));
  }
  return list;
}

py::list history(ReaderHandle& self, const py::object& key) {
  const Bytes wanted(key, "key");
  py::list list;
  for (const Revision& revision : self.read([&](const Reader& reader) { return reader.history(wanted); }))
    list.append(tuple_of(revision));
  return list;
}

py::list expiring(ReaderHandle& self, const py::object& start, const py::object& stop,
                  const py::object& limit) {
  const int64_t from_ms = to_moment_ms(start, "start");
  const int64_t to_ms = to_moment_ms(stop, "stop");
  const auto at_most =
      limit.is_none() ? std::numeric_limits<size_t>::max() : static_cast<size_t>(to_count(limit, "limit"));
  py::list list;
  for (const Expiring& next :
       self.read([&](const Reader& reader) { return reader.expiring(from_ms, to_ms, at_most); }))
    list.append(py::make_tuple(to_bytes(next.key), next.deadline_ms));
  return list;
}

void define_reader(py::module_& module) {
  HandleClass<ReaderHandle, std::shared_ptr<ReaderHandle>>(module, "Reader")
      .def(
          "get",
          [](ReaderHandle& self, const py::object& key, const py::object& otherwise) {
            return bytes_or(get(self, key), otherwise);
          },
          py::arg("key"), py::arg("default") = py::none(), "The value, or `default` if there is none.")
      .def("__getitem__", get_item)
      .def("__contains__",
           [](ReaderHandle& self, const py::object& key) { return can_be_bytes(key) && exists(self, key); })
      .def("exists", exists, py::arg("key"), "Whether the key is there.")
      .def("ttl", ttl, py::arg("key"),
           "The seconds left; None for a permanent key. NotFoundError if the key is not there.")
      .def("get_many", get_many, py::arg("keys"),
           "The values of many keys, None for those that are not there.")
      .def("_entry",
           [](ReaderHandle& self, const py::object& key) {
             const Bytes wanted(key, "key");
             return counted(self.counters(),
                            self.read([&](const Reader& reader) { return reader.get_entry(wanted); }));
           })
      .def(
          "count",
          [](ReaderHandle& self) { return self.read([](const Reader& reader) { return reader.count(); }); },
          "How many keys are visible: exact, and a walk over them unless the family is `counted`.")
      .def(
          "estimated_count",
          [](ReaderHandle& self) {
            return self.read([](const Reader& reader) { return reader.estimated_count(); });
          },
          "About as many, at a cost that does not grow with them.")
      .def(
          "get_at",
          [](ReaderHandle& self, const py::object& key, const py::object& when, const py::object& otherwise) {
            const Bytes wanted(key, "key");
            const int64_t at_ms = to_moment_ms(when, "when");
            const auto value = self.read([&](const Reader& reader) { return reader.get_at(wanted, at_ms); });
            self.counters().add_get(value);
            return bytes_or(value, otherwise);
          },
          py::arg("key"), py::arg("when"), py::arg("default") = py::none(),
          "The value that was visible at `when`, in a family that keeps history.")
      .def("_history", history)
      .def("_get_revision",
           [](ReaderHandle& self, const py::object& key, const py::object& revision) {
             const Bytes wanted(key, "key");
             const uint64_t number = to_count(revision, "revision");
             return counted(self.counters(), self.read([&](const Reader& reader) {
               return reader.get_revision(wanted, number);
             }));
           })
      .def("_expiring", expiring)
      .def("_forecast",
           [](ReaderHandle& self, const py::object& width, const py::object& buckets) {
             const milliseconds each = to_duration(width, milliseconds(0), "width");
             const uint64_t count = to_count(buckets, "buckets");
             return self.read([&](const Reader& reader) { return reader.forecast(each, count); });
           })
      .def("_policies",
           [](ReaderHandle& self) {
             return from_family_options(
                 self.read([](const Reader& reader) { return reader.family_options(); }));
           })
      .def("_name",
           [](ReaderHandle& self) {
             return self.read([](const Reader& reader) { return Result<std::string>(reader.family_name()); });
           })
      .def("_inherited", [](const ReaderHandle& self) { return self.shared()->inherited(); })
      .def("_not_found",
           [](ReaderHandle&, const std::string& message) {
             throw StatusError(StatusCode::kNotFound, message);
           })
      .def("_refuse",
           [](ReaderHandle&, const std::string& message) {
             throw StatusError(StatusCode::kInvalidArgument, message);
           })
      .def("_iterate", iterate, py::arg("reverse") = false, py::arg("prefix") = py::none(),
           py::arg("start") = py::none(), py::arg("stop") = py::none());
}

// ------------------------------------------------------------------------------------------- writing

void put(KeyspaceHandle& self, const py::object& key, const py::object& value, const py::object& ttl) {
  const Bytes name(key, "key");
  const Bytes content(value, "value");
  const Lifetime lifetime = to_lifetime(ttl);
  self.write([&](Keyspace& keys) { return keys.put(name, content, lifetime); });
  self.counters().add_put(name.size() + content.size());
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
  const Bytes name(key, "key");
  const Bytes content(value, "value");
  const Lifetime lifetime = to_lifetime(ttl);
  const bool written =
      self.write([&](Keyspace& keys) { return keys.put_if_absent(name, content, lifetime); });
  if (written) self.counters().add_put(name.size() + content.size());
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
  const Bytes name(key, "key");
  const Bytes content(value, "value");
  const Lifetime lifetime = to_lifetime(ttl);
  const bool written = on_expected(
      expected,
      [&](uint64_t revision) {
        return self.write(
            [&](Keyspace& keys) { return keys.compare_and_set_revision(name, revision, content, lifetime); });
      },
      [&](std::string_view before) {
        return self.write(
            [&](Keyspace& keys) { return keys.compare_and_set(name, before, content, lifetime); });
      });
  if (written) self.counters().add_put(name.size() + content.size());
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
  const auto entry =
      lifetime.kind() == Lifetime::Kind::kUntil ? self.write_together(until) : self.write(from_now);
  self.counters().add_get(entry ? std::optional<std::string_view>(entry->value) : std::nullopt);
  return entry ? py::object(to_bytes(entry->value)) : py::none();
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
             const Bytes name(key, "key");
             const Bytes content(value, "value");
             const Lifetime lifetime = to_lifetime(ttl);
             const auto before =
                 self.write([&](Keyspace& keys) { return keys.get_and_set(name, content, lifetime); });
             self.counters().add_get(before);
             self.counters().add_put(name.size() + content.size());
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

// ------------------------------------------------------------------------------------------ the store

struct HeldClock : public NeverWithoutInit {
  explicit HeldClock(int64_t now_ms) : clock(now_ms) {}
  ManualClock clock;
};

// A clock that a store was opened with stays for good: another handle on the same file may be following it.
Clock* kept_for_good(py::handle given) {
  if (!py::isinstance<HeldClock>(given))
    throw py::type_error(std::string("clock: ManualClock expected, not ") + Py_TYPE(given.ptr())->tp_name);
  (void)py::cast<HeldClock&>(given);  // which says so if it was never initialised
  const auto held = py::cast<std::shared_ptr<HeldClock>>(given);
  static auto* const kept = new std::vector<std::shared_ptr<HeldClock>>;  // under the GIL
  kept->push_back(held);
  return &held->clock;
}

Durability to_durability(const std::string& name) {
  if (name == "full") return Durability::kFull;
  if (name == "normal") return Durability::kNormal;
  if (name == "none") return Durability::kNone;
  throw StatusError(StatusCode::kInvalidArgument,
                    "durability is '" + name + "': 'full', 'normal' or 'none' expected");
}

Options to_options(const py::dict& given) {
  Options options;
  for (const auto& [key, value] : given) {
    const std::string name = py::cast<std::string>(key);
    if (value.is_none()) continue;
    if (name == "create") {
      options.create_if_missing = to_flag(value, "create");
    } else if (name == "read_only") {
      options.read_only = to_flag(value, "read_only");
    } else if (name == "salvage") {
      options.salvage = to_flag(value, "salvage");
    } else if (name == "durability") {
      options.durability = to_durability(to_text(value, "durability"));
    } else if (name == "sync_interval") {
      options.sync_interval = to_duration(value, options.sync_interval, "sync_interval");
    } else if (name == "background_drain") {
      options.background_drain = to_flag(value, "background_drain");
    } else if (name == "buffer_bytes") {
      options.buffer_bytes = to_count(value, "buffer_bytes");
    } else if (name == "busy_timeout") {
      options.busy_timeout = to_duration(value, kForever, "busy_timeout");
    } else if (name == "sweep_per_write") {
      options.sweep_per_write = static_cast<uint32_t>(
          to_integer(value, "sweep_per_write", 0, std::numeric_limits<uint32_t>::max()));
    } else if (name == "clock") {
      options.clock = kept_for_good(value);
    } else if (name == "policies") {
      options.default_family = to_family_options(py::cast<py::dict>(value));
    } else {
      throw py::type_error("there is no option '" + name + "'");
    }
  }
  return options;
}

StorePointer open(const std::optional<std::string>& path, const py::dict& given) {
  const Options options = to_options(given);
  StorePointer handle;
  {
    const py::gil_scoped_release release;
    handle = std::make_shared<StoreHandle>(OpenStore::open(path, options));
  }
  if (given.contains("policies"))
    check_policies("default", given["policies"],
                   handle->read([](const Reader& reader) { return reader.family_options(); }));
  return handle;
}

constexpr const char* kAboutStats =
    R"(What has been counted since this handle was opened, or since stats_reset(), and figures of the store.

A call counts each key that it wrote, deleted or was asked the value of, in `puts`, `deletes` and `gets`; clear() and purges
delete nothing, and iterators get nothing. `bytes_written` is of keys and values, `bytes_read` of values. `iterations`: how many
iterators were made. `errors`: how many calls raised something other than NotFoundError. `ttl_purged`: what calls purged.)";

constexpr uint64_t kPageBytes = 4096;  // what db_pages counts in, as in C

py::dict stats(StoreHandle& self) {
  const StoreStats stats = self.whole([](Store& store) { return Result<StoreStats>(store.stats()); });
  const Counters& counters = self.shared()->counters();
  py::dict dict;
  dict["puts"] = counters.puts.load();
  dict["gets"] = counters.gets.load();
  dict["deletes"] = counters.deletes.load();
  dict["iterations"] = counters.iterations.load();
  dict["errors"] = counters.errors.load();
  dict["bytes_read"] = counters.bytes_read.load();
  dict["bytes_written"] = counters.bytes_written.load();
  dict["checkpoints"] = counters.checkpoints.load();
  dict["commits"] = stats.commits - counters.commits_before.load();
  dict["wal_commits"] = dict["commits"];
  dict["syncs"] = stats.syncs - counters.syncs_before.load();
  dict["ttl_expired"] = stats.expired_hidden - counters.hidden_before.load();
  dict["ttl_purged"] = counters.purged.load();
  dict["db_pages"] = (stats.file_bytes + kPageBytes - 1) / kPageBytes;
  dict["last_revision"] = stats.last_revision;
  dict["durable_revision"] = stats.durable_revision;
  dict["file_bytes"] = stats.file_bytes;
  dict["free_bytes"] = stats.free_bytes;
  dict["journal_bytes"] = stats.journal_bytes;
  dict["buffer_bytes"] = stats.buffer_bytes;
  dict["unsynced_age_ms"] = stats.unsynced_age_ms;
  dict["oldest_snapshot_ms"] = stats.oldest_snapshot_ms;
  dict["clock_in_doubt"] = stats.clock_in_doubt;
  dict["background_error"] = std::string(stats.background_error.message());
  return dict;
}

void configure(StoreHandle& self, const py::object& family, const py::dict& policies) {
  const std::string name = to_text(family, "family");
  const FamilyOptions present = self.apart([&](Store& store) -> Result<FamilyOptions> {
    if (name == "default") return store.family_options();
    const Result<Family> found = store.family(name);
    if (!found.ok()) return found.status();
    return found->family_options();
  });
  const FamilyOptions changed = to_family_options(policies, present);
  self.apart([&](Store& store) { return store.set_family_options(name, changed); });
}

std::shared_ptr<SnapshotHandle> snapshot(StoreHandle& self, const py::object& at) {
  std::optional<int64_t> at_ms;
  if (!at.is_none()) at_ms = to_moment_ms(at, "at");
  return self.whole([&](Store& store) -> Result<std::shared_ptr<SnapshotHandle>> {
    Result<Snapshot> taken = at_ms ? store.snapshot_at(*at_ms) : store.snapshot();
    if (!taken.ok()) return taken.status();
    auto handle =
        std::make_shared<SnapshotHandle>(self.shared(), std::make_shared<const Snapshot>(*std::move(taken)));
    self.shared()->add(handle);
    return handle;
  });
}

// For the calls below that need no Result.
template <typename Call>
auto without_gil(StoreHandle& self, Call call) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): another thread may close it meanwhile
  const auto store = self.shared();
  store->check_usable();
  store->check_task();
  const py::gil_scoped_release release;
  return call(*store);
}

void define_store(py::module_& module) {
  module.def("_thread_is_in_transaction", thread_is_in_transaction);
  const py::class_<Savepoint> savepoint_class(module, "Savepoint");
  HandleClass<StoreHandle, KeyspaceHandle, StorePointer>(module, "Store")
      .init(&open, py::arg("path"), py::arg("options"))
      .def(
          "begin",
          [](StoreHandle& self, bool write) {
            const uint64_t task = running_task();
            without_gil(self, [&](OpenStore& store) { store.begin(write, task); });
          },
          py::arg("write") = false,
          "Opens a transaction that this thread's calls join, until commit() or rollback(). Without `write` "
          "they all\n"
          "read one moment, and may not write.")
      .def(
          "commit", [](StoreHandle& self) { without_gil(self, [](OpenStore& store) { store.commit(); }); },
          "Makes what the thread's transaction did permanent.")
      .def("_commit",
           [](StoreHandle& self) {
             return without_gil(self, [](OpenStore& store) { return store.commit(); });
           })
      .def(
          "rollback",
          [](StoreHandle& self) { without_gil(self, [](OpenStore& store) { store.rollback(); }); },
          "Undoes what the thread's transaction did.")
      .def("_savepoint",
           [](StoreHandle& self) {
             return without_gil(self, [](OpenStore& store) { return store.savepoint(); });
           })
      .def("_rollback_to",
           [](StoreHandle& self, Savepoint savepoint) {
             without_gil(self, [&](OpenStore& store) { store.rollback_to(savepoint); });
           })
      .def_property_readonly(
          "in_transaction",
          [](StoreHandle& self) {
            const auto scope = self.usable()->scope();
            return scope && scope->task == running_task();
          },
          "Whether this thread, and in it this asyncio task, has a transaction open.")
      .def("_list_families",
           [](StoreHandle& self) {
             return self.read_families([](auto& families) { return families.list_families(); });
           })
      .def("_drop_family",
           [](StoreHandle& self, const py::object& family) {
             const std::string name = to_text(family, "name");
             self.write_families([&](auto& families) { return families.drop_family(name); });
           })
      .def("_configure", configure)
      .def(
          "purge_all_expired",
          [](StoreHandle& self) {
            const uint64_t removed =
                self.apart([](Store& store) { return store.purge_all_expired(); }).removed;
            Counters::add(self.counters().purged, removed);
            return removed;
          },
          "purge_expired() of every family.")
      .def(
          "sync", [](StoreHandle& self) { self.whole([](Store& store) { return store.sync(); }); },
          "Returns when everything committed so far survives a power cut.")
      .def("_checkpoint",
           [](StoreHandle& self) {
             const milliseconds patience = self.shared()->busy_timeout();
             // Store::checkpoint() waits for the writer as long as it takes: so this first waits as writes do.
             self.apart([&](Store& store) { return store.begin(patience).status(); });
             self.whole([](Store& store) { return store.checkpoint(); });
             Counters::add(self.counters().checkpoints);
           })
      .def("_compact_to",
           [](StoreHandle& self, const std::string& path) {
             self.whole([&](Store& store) { return store.compact_to(path); });
           })
      .def(
          "integrity_check",
          [](StoreHandle& self) { self.whole([](Store& store) { return store.verify(); }); },
          "Reads everything and checks it. CorruptError says what is wrong where.")
      .def("stats", stats, kAboutStats)
      .def(
          "stats_reset",
          [](StoreHandle& self) {
            const StoreStats now = self.whole([](Store& store) { return Result<StoreStats>(store.stats()); });
            self.counters().reset(now);
          },
          "Lets all that stats() counts begin at zero again; what it measures stays.")
      .def("_check_open", [](StoreHandle& self) { (void)self.usable(); })
      .def("_errmsg", [](StoreHandle& self) { return self.shared()->latest_error(); })
      .def("_now_ms",
           [](StoreHandle& self) {
             return self.whole([](Store& store) { return Result<int64_t>(store.now_ms()); });
           })
      .def_property_readonly(
          "closed", [](StoreHandle& self) { return self.shared()->closed(); }, "Whether close() was called.")
      .def(
          "close",
          [](StoreHandle& self) {
            // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the last handle may go meanwhile
            const auto store = self.shared();
            const py::gil_scoped_release release;
            store->close();
          },
          "Syncs, and releases the files. Closing twice is fine; every other call is an error from then on.");
}

// -------------------------------------------------------------------------------- families, snapshots

bool is_there(StoreHandle& store, const std::string& name) {
  return store.read_families([&](auto& families) -> Result<bool> {
    const Result<Family> family = families.family(name);
    if (!family.ok() && family.status().code() != StatusCode::kNotFound) return family.status();
    return family.ok();
  });
}

std::shared_ptr<FamilyHandle> family(StoreHandle& store, const py::object& called, const std::string& mode,
                                     const py::dict& policies) {
  const std::string name = to_text(called, "name");
  if (mode == "default") return std::make_shared<FamilyHandle>(store.usable(), std::nullopt);
  const FamilyOptions options = to_family_options(policies);
  const auto open = [&](auto& families) { return families.family(name); };
  const auto create = [&](auto& families) -> Result<Family> {
    Result<Family> created = families.create_family(name, options);
    const bool is_there = created.status().code() == StatusCode::kBusy && families.family(name).ok();
    if (!is_there) return created;
    return Status(StatusCode::kInvalidArgument,
                  "there is a family '" + name + "' already");  // waiting is no help
  };
  const auto find_or_create = [&](auto& families) -> Result<Family> {
    Result<Family> present = families.family(name);
    if (present.ok() || present.status().code() != StatusCode::kNotFound) return present;
    Result<Family> created = families.create_family(name, options);
    if (created.ok()) return created;
    Result<Family> of_another = families.family(name);  // that made it meanwhile
    return of_another.ok() ? of_another : created;
  };
  Family found = mode == "open" || (mode == "either" && is_there(store, name)) ? store.read_families(open)
                 : mode == "create"                                            ? store.write_families(create)
                                    : store.write_families(find_or_create);
  auto handle = std::make_shared<FamilyHandle>(store.usable(), std::move(found));
  if (mode == "either" && !policies.empty())
    check_policies(name, policies,
                   handle->read([](const Reader& reader) { return reader.family_options(); }));
  return handle;
}

void define_family(py::module_& module) {
  HandleClass<FamilyHandle, KeyspaceHandle, std::shared_ptr<FamilyHandle>>(module, "Family")
      .init(noting(&family), py::arg("store"), py::arg("name"), py::arg("mode"), py::arg("policies"))
      .def(
          "close", [](FamilyHandle& self) { self.close(); },
          "Ends this handle. The family and its contents stay.");
}

void define_snapshot(py::module_& module) {
  HandleClass<SnapshotHandle, ReaderHandle, std::shared_ptr<SnapshotHandle>>(module, "Snapshot")
      .init(noting(&snapshot), py::arg("store"), py::arg("at") = py::none())
      .init(
          noting([](const SnapshotHandle& other, const KeyspaceHandle& family) { return other.in(family); }))
      .def("_now_ms", [](const SnapshotHandle& self) { return self.now_ms(); })
      .def(
          "close", [](SnapshotHandle& self) { self.close(); },
          "Lets the moment go, and the space that it keeps.");
}

void define_clock(py::module_& module) {
  py::class_<HeldClock, std::shared_ptr<HeldClock>>(module, "ManualClock")
      .def(py::init(
          [](const py::object& now) { return std::make_shared<HeldClock>(to_moment_ms(now, "now")); }))
      .def("_now_ms", [](HeldClock& self) { return self.clock.now_ms(); })
      .def(
          "set", [](HeldClock& self, const py::object& when) { self.clock.set(to_moment_ms(when, "when")); },
          py::arg("when"), "Sets it to a datetime, or to seconds since 1970.")
      .def(
          "advance",
          [](HeldClock& self, const py::object& by) {
            self.clock.advance(to_duration(by, milliseconds(0), "by").count());
          },
          py::arg("by"), "Moves it on by seconds or a timedelta.");
}

}  // namespace

// ----------------------------------------------------------------------------------- what they stand on

std::shared_ptr<OpenStore> ReaderHandle::usable() const {
  store_->check_open();
  if (closed_) throw StatusError(StatusCode::kUnavailable, "this handle has been closed");
  return store_;
}

void KeyspaceHandle::visit(const Visitor& visitor) {
  if (const auto scope = store_->scope()) {
    const Ground ground{scope, nullptr};
    if (scope->transaction) {
      family_ ? visitor(scope->transaction->in(*family_), ground) : visitor(*scope->transaction, ground);
    } else {
      family_ ? visitor(scope->snapshot->in(*family_), ground) : visitor(*scope->snapshot, ground);
    }
    return;
  }
  family_ ? visitor(*family_, {}) : visitor(store_->store(), {});
}

void KeyspaceHandle::check_writable() const {
  const auto scope = store_->scope();
  if (scope && !scope->transaction)
    store_->fail({StatusCode::kReadOnly, "a read transaction is open in this thread: end it before writing"});
}

void SnapshotHandle::visit(const Visitor& visitor) {
  const Ground ground{nullptr, held()};
  family_ ? visitor(ground.snapshot->in(*family_), ground) : visitor(*ground.snapshot, ground);
}

std::shared_ptr<const Snapshot> SnapshotHandle::held() const {
  const std::lock_guard lock(mutex_);
  if (!snapshot_) throw StatusError(StatusCode::kUnavailable, "this snapshot has been closed");
  return snapshot_;
}

std::shared_ptr<SnapshotHandle> SnapshotHandle::in(const KeyspaceHandle& family) const {
  const auto store = usable();
  const Use use(*store);
  auto other = std::make_shared<SnapshotHandle>(store, held());
  other->family_ = family.family_;
  store->add(other);
  return other;
}

int64_t SnapshotHandle::now_ms() const {
  const auto store = usable();
  const Use use(*store);
  return held()->now_ms();
}

void SnapshotHandle::close() {
  store_->check_usable();
  let_go();
}

void SnapshotHandle::let_go() {
  const std::lock_guard lock(mutex_);
  snapshot_.reset();
}

void define_handles(py::module_& module) {
  define_clock(module);
  define_reader(module);
  define_keyspace(module);
  define_store(module);
  define_family(module);
  define_snapshot(module);
}

}  // namespace lapse::python
