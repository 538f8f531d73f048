// The policies of a family as Python writes them: keywords counted, revisions, default_ttl, max_ttl, require_ttl,
// jitter_percent, history.

#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "lapse/options.h"

namespace lapse::python {

// `options`, with those changed that are named.
FamilyOptions to_family_options(const pybind11::dict& policies, FamilyOptions options = {});
pybind11::dict from_family_options(const FamilyOptions& options);
// Throws kInvalidArgument if one of the policies that are asked for is another than the family has.
void check_policies(const std::string& family, const pybind11::dict& asked, const FamilyOptions& present);

}  // namespace lapse::python
