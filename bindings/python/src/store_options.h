// What lapse.open() is given besides the path, as Options.

#pragma once

#include <pybind11/pybind11.h>

#include "lapse/options.h"

namespace lapse::python {

// From keywords, None for those that were not given. TypeError for one that there is not.
Options to_options(const pybind11::dict& given);

}  // namespace lapse::python
