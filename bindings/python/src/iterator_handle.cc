// The iterator that Python holds. A loop takes entries in batches, so that it asks for the GIL once in a while and not
// at each key; what it sees cannot change, so nobody can tell. Only over a transaction, whose writes it is to see, does
// it go step by step.

#include "iterator_handle.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "classes.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "handle_class.h"
#include "never_without_init.h"
#include "open_store.h"

namespace lapse::python {

namespace {

constexpr size_t kBatchEntries = 256;
constexpr size_t kBatchBytes = 256 << 10;

using Entries = std::deque<std::pair<std::string, std::string>>;

class IteratorHandle final : public Dependent, public NeverWithoutInit {
 public:
  IteratorHandle(std::shared_ptr<OpenStore> store, Ground ground, Iterator iterator, bool reverse)
      : store_(std::move(store)),
        ground_(std::move(ground)),
        scope_(ground_.scope.get()),
        reverse_(reverse),
        batch_limit_(1),
        iterator_(std::move(iterator)) {}
  ~IteratorHandle() override { store_->remove(this); }
  IteratorHandle(const IteratorHandle&) = delete;
  IteratorHandle& operator=(const IteratorHandle&) = delete;

  bool reverse() const { return reverse_; }
  OpenStore& store() const { return *store_; }

  // The entry that it stands on, if `and_move` with a step beyond it. None at the end.
  std::optional<std::pair<std::string, std::string>> current(bool and_move) {
    return locked([&]() -> std::optional<std::pair<std::string, std::string>> {
      if (batch_.empty()) fill();
      if (batch_.empty()) return std::nullopt;
      if (!and_move) return batch_.front();
      std::optional entry(std::move(batch_.front()));
      batch_.pop_front();
      return entry;
    });
  }

  void step(bool along) {
    locked([&] {
      settle();
      if (!iterator_->valid()) {
        check();
        fail("the iterator is at its end");
      }
      along ? iterator_->next() : iterator_->prev();
      check();
    });
  }

  void to_front() {
    locked([&] {
      forget();
      iterator_->first();
      check();
    });
  }

  void seek(std::string_view key) {
    locked([&] {
      forget();
      iterator_->seek(key);
      check();
    });
  }

  void close() {
    store_->check_usable();
    let_go();
  }

  void let_go() override {
    const std::lock_guard lock(mutex_);
    iterator_.reset();
    forget();
    ground_ = {};
  }

  bool lives_in(const ThreadScope& scope) const override { return scope_ == &scope; }

 private:
  template <typename Work>
  std::invoke_result_t<Work> locked(Work work) {
    const Use use(*store_);
    const std::lock_guard lock(mutex_);
    if (!iterator_) fail("the iterator is closed, or its transaction has ended");
    if (ground_.scope && ground_.scope->transaction && ground_.scope->owner != this_thread())
      fail("an iterator over a transaction is for the thread that has it open");
    return work();
  }

  [[noreturn]] static void fail(const char* message) {
    throw StatusError(StatusCode::kInvalidArgument, message);
  }

  bool sees_changes() const { return ground_.scope && ground_.scope->transaction; }

  // Before the iterator moves by hand: it goes back to the entry that is next to be handed out. Over a transaction it has not
  // left it; and it could not find it again, if that key has been erased.
  void settle() {
    if (!batch_.empty()) {
      const std::string key = std::move(batch_.front().first);
      forget();
      if (!sees_changes()) iterator_->seek(key);
    }
    if (std::exchange(step_is_due_, false) && iterator_->valid()) iterator_->next();
  }

  void forget() {
    batch_.clear();
    batch_limit_ = 1;
    step_is_due_ = false;
  }

  void fill() {
    if (std::exchange(step_is_due_, false) && iterator_->valid()) iterator_->next();
    size_t bytes = 0;
    while (batch_.size() < batch_limit_ && bytes < kBatchBytes && iterator_->valid()) {
      batch_.emplace_back(iterator_->key(), iterator_->value());
      bytes += batch_.back().first.size() + batch_.back().second.size();
      if (sees_changes()) {
        step_is_due_ = true;  // taken when it is asked for, to see what was written until then
      } else {
        iterator_->next();
      }
    }
    if (batch_.empty()) check();
    if (!sees_changes()) batch_limit_ = std::min(batch_limit_ * 2, kBatchEntries);
  }

  void check() { store_->take(iterator_->status()); }

  const std::shared_ptr<OpenStore> store_;
  Ground ground_;                   // declared before the iterator: it must outlive it
  const ThreadScope* const scope_;  // as a name, also when it is gone
  const bool reverse_;

  std::mutex mutex_;  // Python may hand an iterator to several threads
  Entries batch_;     // read ahead; the iterator stands behind it, over a transaction on its one entry
  size_t batch_limit_;
  bool step_is_due_ = false;
  std::optional<Iterator> iterator_;
};

using Self = std::shared_ptr<IteratorHandle>;

OpenStore& store_of(const Self& self) { return self->store(); }

std::pair<std::string, std::string> entry_of(const Self& self) {
  std::optional<std::pair<std::string, std::string>> entry;
  {
    const py::gil_scoped_release release;
    entry = self->current(false);
  }
  if (!entry) throw StatusError(StatusCode::kInvalidArgument, "the iterator is at its end");
  return *std::move(entry);
}

py::tuple pair_of(const std::pair<std::string, std::string>& entry) {
  return py::make_tuple(to_bytes(entry.first), to_bytes(entry.second));
}

py::tuple next_of(const Self& self) {
  std::optional<std::pair<std::string, std::string>> entry;
  {
    const py::gil_scoped_release release;
    entry = self->current(true);
  }
  if (!entry) throw py::stop_iteration();
  return pair_of(*entry);
}

// Runs a member function without the GIL, and gives the iterator itself back.
template <typename Move>
Self moved(const Self& self, Move move) {
  const py::gil_scoped_release release;
  move(*self);
  return self;
}

Self to_start(const Self& self, bool reverse) {
  if (self->reverse() != reverse)
    throw StatusError(StatusCode::kInvalidArgument,
                      reverse ? "last() is for reverse iterators" : "first() is for forward iterators");
  return moved(self, [](IteratorHandle& iterator) { iterator.to_front(); });
}

}  // namespace

py::object iterate(ReaderHandle& handle, bool reverse, py::handle prefix, py::handle from, py::handle to) {
  IterateOptions options;
  options.reverse = reverse;
  if (!prefix.is_none()) options.prefix = to_string(prefix, "prefix");
  if (!from.is_none()) options.from = to_string(from, "start");
  if (!to.is_none()) options.to = to_string(to, "stop");
  const auto store = handle.usable();
  Self made = handle.read_on([&](const Reader& reader, const Ground& ground) -> Result<Self> {
    Result<Iterator> iterator = reader.iterate(options);
    if (!iterator.ok()) return iterator.status();
    // Without the GIL: an iterator that goes may remove expired keys that it has met.
    Self self(::new IteratorHandle(store, ground, *std::move(iterator), reverse),
              delete_without_gil<IteratorHandle>);
    store->add(self);
    Counters::add(store->counters().iterations);
    return self;
  });
  return py::cast(std::move(made));
}

void define_iterator(py::module_& module) {
  HandleClass<IteratorHandle, Self>(module, "Iterator",
                                    R"(The visible keys of one moment, in order: yields (key, value).

    >>> db = lapse.KVStore()
    >>> db["a"] = "1"; db["b"] = "2"
    >>> list(db.iterator())
    [(b'a', b'1'), (b'b', b'2')]
    >>> with db.iterator() as it:
    ...     it.seek("b").item()
    (b'b', b'2')

It sees the store as of its creation; over a transaction, also what the transaction writes while it goes.)")
      .def("__iter__", [](const Self& self) { return self; })
      .def("__next__", next_of)
      .def(
          "first", [](const Self& self) { return to_start(self, false); },
          "To the first key, of a forward iterator. Returns itself.")
      .def(
          "last", [](const Self& self) { return to_start(self, true); },
          "To the last key, of a reverse iterator. Returns itself.")
      .def(
          "next",
          [](const Self& self) {
            moved(self, [](IteratorHandle& iterator) { iterator.step(!iterator.reverse()); });
          },
          "To the next greater key.")
      .def(
          "prev",
          [](const Self& self) {
            moved(self, [](IteratorHandle& iterator) { iterator.step(iterator.reverse()); });
          },
          "To the next smaller key.")
      .def(
          "seek",
          [](const Self& self, const py::object& key) {
            const Bytes wanted(key, "key");
            return moved(self, [&](IteratorHandle& iterator) { iterator.seek(wanted); });
          },
          py::arg("key"), "To the first key, in its direction, at or beyond `key`. Returns itself.")
      .def_property_readonly(
          "eof",
          [](const Self& self) {
            const py::gil_scoped_release release;
            return !self->current(false).has_value();
          },
          "Whether there are no more keys in its direction.")
      .def_property_readonly("key", [](const Self& self) { return to_bytes(entry_of(self).first); })
      .def_property_readonly("value", [](const Self& self) { return to_bytes(entry_of(self).second); })
      .def(
          "item", [](const Self& self) { return pair_of(entry_of(self)); }, "The current (key, value).")
      .def(
          "close", [](const Self& self) { moved(self, [](IteratorHandle& iterator) { iterator.close(); }); },
          "Lets go of the moment that it sees.")
      .def("__enter__", [](const Self& self) { return self; })
      .def("__exit__", [](const Self& self, const py::args&) {
        if (!self->store().inherited()) moved(self, [](IteratorHandle& iterator) { iterator.close(); });
      });
}

}  // namespace lapse::python
