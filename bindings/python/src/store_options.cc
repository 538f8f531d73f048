// The keywords of lapse.open(), and which option each of them sets.

#include "store_options.h"

#include <cstdint>
#include <limits>
#include <string>

#include "convert.h"
#include "errors.h"
#include "family_policies.h"
#include "manual_clock.h"

namespace py = pybind11;

namespace lapse::python {

namespace {

Durability to_durability(const std::string& name) {
  if (name == "full") return Durability::kFull;
  if (name == "normal") return Durability::kNormal;
  if (name == "none") return Durability::kNone;
  throw StatusError(StatusCode::kInvalidArgument,
                    "durability is '" + name + "': 'full', 'normal' or 'none' expected");
}

}  // namespace

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

}  // namespace lapse::python
