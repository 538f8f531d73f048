#include "family_policies.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "convert.h"
#include "errors.h"

namespace py = pybind11;

namespace lapse::python {

namespace {

using std::chrono::milliseconds;

// True: everything. A number: so many values. A timedelta: so long. A pair: both.
std::optional<HistoryPolicy> to_history(py::handle history) {
  if (history.is_none() || history.is(py::bool_(false))) return std::nullopt;
  HistoryPolicy policy;
  if (history.is(py::bool_(true))) return policy;
  // The store takes 0 for any number and for ever, which nobody means who writes it here.
  const auto refuse_if_none = [&](bool none) {
    if (none) wrong_value(history, "history", "more than 0 expected; False is none, True is everything");
  };
  const auto keep_last = [&](py::handle number) {
    const int64_t last = to_integer(number, "history", std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<uint32_t>::max());
    refuse_if_none(last <= 0);
    policy.keep_last = static_cast<uint32_t>(last);
  };
  const auto keep_for = [&](py::handle duration) {
    policy.keep_for = to_duration(duration, milliseconds(0), "history");
    refuse_if_none(policy.keep_for.count() <= 0);
  };
  if (py::isinstance<py::tuple>(history)) {
    const auto both = py::reinterpret_borrow<py::tuple>(history);
    if (both.size() != 2) wrong_value(history, "history", "(how many, how long) expected");
    if (!both[0].is_none()) keep_last(both[0]);
    if (!both[1].is_none()) keep_for(both[1]);
  } else if (PyLong_Check(history.ptr())) {
    keep_last(history);
  } else if (is_timedelta(history)) {
    keep_for(history);
  } else {
    wrong_type(history, "history: bool, int, timedelta or a pair (how many, how long)");
  }
  return policy;
}

py::object from_history(const std::optional<HistoryPolicy>& history) {
  if (!history) return py::none();
  const py::object keep_last =
      history->keep_last == 0 ? py::object(py::none()) : py::int_(history->keep_last);
  const py::object keep_for =
      history->keep_for.count() == 0 ? py::object(py::none()) : seconds_or_none(history->keep_for);
  return py::make_tuple(keep_last, keep_for);
}

}  // namespace

FamilyOptions to_family_options(const py::dict& policies, FamilyOptions options) {
  for (const auto& [key, value] : policies) {
    const std::string name = py::cast<std::string>(key);
    if (name == "counted")
      options.counted = to_flag(value, "counted");
    else if (name == "revisions")
      options.revisions = to_flag(value, "revisions");
    else if (name == "default_ttl")
      options.default_ttl = to_duration(value, milliseconds(0), "default_ttl");
    else if (name == "max_ttl")
      options.max_ttl = to_duration(value, milliseconds(0), "max_ttl");
    else if (name == "require_ttl")
      options.require_ttl = to_flag(value, "require_ttl");
    else if (name == "jitter_percent")
      options.jitter_percent = static_cast<int>(to_integer(value, "jitter_percent", 0, 100));
    else if (name == "history")
      options.history = to_history(value);
    else
      throw py::type_error("there is no policy '" + name + "'");
  }
  return options;
}

py::dict from_family_options(const FamilyOptions& options) {
  const auto ttl_or_none = [](milliseconds ttl) {
    return ttl.count() == 0 ? py::object(py::none()) : seconds_or_none(ttl);
  };
  py::dict policies;
  policies["counted"] = options.counted;
  policies["revisions"] = options.revisions;
  policies["default_ttl"] = ttl_or_none(options.default_ttl);
  policies["max_ttl"] = ttl_or_none(options.max_ttl);
  policies["require_ttl"] = options.require_ttl;
  policies["jitter_percent"] = options.jitter_percent;
  policies["history"] = from_history(options.history);
  return policies;
}

void check_policies(const std::string& family, const py::dict& asked, const FamilyOptions& present) {
  const py::dict has = from_family_options(present);
  const py::dict would_have = from_family_options(to_family_options(asked, present));
  std::string differences;
  std::string change;
  for (const auto& [name, value] : asked) {
    if (has[name].equal(would_have[name])) continue;
    const std::string policy = py::cast<std::string>(name) + "=";
    differences += (differences.empty() ? "" : ", ") + policy + std::string(py::repr(has[name]));
    change += ", " + policy + std::string(py::repr(value));
  }
  if (differences.empty()) return;
  throw StatusError(StatusCode::kInvalidArgument,
                    "the family '" + family + "' is there already, with " + differences +
                        "; open it without these policies, and change them by configure('" + family + "'" +
                        change + ")");
}

}  // namespace lapse::python
