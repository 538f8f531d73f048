// The store as a whole: opening and closing it, its transactions, what it counts, its upkeep. lapse._lapse.Store.

#include "store_handle.h"

#include <pybind11/stl.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "classes.h"
#include "convert.h"
#include "family_policies.h"
#include "handle_class.h"
#include "store_options.h"

namespace lapse::python {

namespace {

using std::chrono::milliseconds;
using StorePointer = std::shared_ptr<StoreHandle>;

StorePointer open(const std::optional<std::string>& path, const py::dict& given) {
  const Options options = to_options(given);
  StorePointer handle;
  {
    const py::gil_scoped_release release;
    handle = std::make_shared<StoreHandle>(OpenStore::open(path, options));
  }
  if (given.contains("policies")) check_policies("default", given["policies"], handle->family_options());
  return handle;
}

constexpr const char* kAboutStats =
    R"(What has been counted since this handle was opened, or since stats_reset(), and figures of the store.

A call counts each key that it wrote, deleted or was asked the value of, in `puts`, `deletes` and `gets`; clear() and purges
delete nothing, and iterators get nothing. `bytes_written` is of keys and values, `bytes_read` of values. `iterations`: how many
iterators were made. `errors`: how many calls raised something other than NotFoundError. `ttl_purged`: what calls purged.)";

constexpr uint64_t kPageBytes = 4096;  // what db_pages counts in, as in C

StoreStats stats_now(StoreHandle& self) {
  return self.whole([](Store& store) { return Result<StoreStats>(store.stats()); });
}

py::dict stats(StoreHandle& self) {
  const StoreStats stats = stats_now(self);
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

}  // namespace

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
          "stats_reset", [](StoreHandle& self) { self.counters().reset(stats_now(self)); },
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

}  // namespace lapse::python
