// lapse.ManualClock, as the store wants it.

#pragma once

#include <pybind11/pybind11.h>

#include "lapse/clock.h"

namespace lapse::python {

// The clock in a ManualClock, for a store to be opened with. It stays for good: another handle on the same file may be
// following it. TypeError for anything else.
Clock* kept_for_good(pybind11::handle given);

}  // namespace lapse::python
