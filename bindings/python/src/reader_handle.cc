// Reading, of whatever handle it is: lapse._lapse.Reader.

#include "reader_handle.h"

#include <pybind11/stl.h>

#include <chrono>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "classes.h"
#include "convert.h"
#include "errors.h"
#include "family_policies.h"
#include "handle_class.h"
#include "iterator_handle.h"

namespace lapse::python {

namespace {

using std::chrono::milliseconds;

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

}  // namespace

FamilyOptions ReaderHandle::family_options() {
  return read([](const Reader& reader) { return reader.family_options(); });
}

std::shared_ptr<OpenStore> ReaderHandle::usable() const {
  store_->check_open();
  if (closed_) throw StatusError(StatusCode::kUnavailable, "this handle has been closed");
  return store_;
}

std::shared_ptr<OpenStore> ReaderHandle::joinable() const {
  auto store = usable();
  check_joinable();
  return store;
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
      .def("_policies", [](ReaderHandle& self) { return from_family_options(self.family_options()); })
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

}  // namespace lapse::python
