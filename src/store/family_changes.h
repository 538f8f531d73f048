// Changes of the catalog, as parts of a transaction: families made, dropped, exchanged. They take effect when it commits.
//
// REQUIRES, for all of them: the names have been checked.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lapse/options.h"
#include "lapse/status.h"
#include "store/catalog.h"
#include "store/write_transaction.h"

namespace lapse::internal {

// The family of that name, as of this transaction. kNotFound if there is none.
Result<std::shared_ptr<Family>> family_in(WriteTransaction* transaction, std::string_view name);
// In name order.
Result<std::vector<std::string>> family_names_in(const engine::Reader& reader);

// kBusy if there is one of that name.
Result<std::shared_ptr<Family>> create_family(WriteTransaction* transaction, std::string_view name,
                                              const FamilyOptions& options);
Status drop_family(WriteTransaction* transaction, std::string_view name);
Status swap_families(WriteTransaction* transaction, std::string_view a, std::string_view b);

}  // namespace lapse::internal
