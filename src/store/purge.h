// Purge: removing what is due of a family in transactions of a bounded size, until there is no more, or a limit or a budget
// is used up.

#pragma once

#include <cstdint>
#include <memory>

#include "lapse/keyspace.h"
#include "lapse/status.h"
#include "store/scope.h"

namespace lapse::internal {

// Each transaction also reclaims some of what cleared and dropped families have left; without a limit, and where other writers
// are let in between, all of it. `total` becomes what it came to, also if it failed before the end.
Status purge_family(Scope* scope, const std::shared_ptr<Family>& family, const PurgeOptions& options,
                    PurgeResult* total);

}  // namespace lapse::internal
