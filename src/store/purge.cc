#include "store/purge.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/try.h"
#include "store/batch.h"
#include "store/expiry.h"

namespace lapse::internal {

namespace {

void tell(const PurgeOptions& options, std::string_view family, std::vector<Expiring>* removed) {
  for (const Expiring& gone : *removed) options.removed({family, gone.key, gone.deadline_ms});
  removed->clear();
}

// One transaction of a purge, of at most `limit` keys. Returns how many rows it has reclaimed.
Result<uint64_t> purge_batch(Scope* scope, const std::shared_ptr<Family>& family, uint64_t limit,
                             DueEntries* due, std::vector<Expiring>* removed, PurgeResult* total) {
  PurgeResult batch;
  uint64_t reclaimed = 0;
  const size_t removed_before = removed == nullptr ? 0 : removed->size();
  LAPSE_TRY(scope->write(family,
                         [&](FamilyWriter& writer) -> Status {
                           batch = {};
                           if (removed != nullptr)
                             removed->erase(removed->begin() + static_cast<std::ptrdiff_t>(removed_before),
                                            removed->end());  // of an attempt that failed
                           if (may_be_due(*writer.family(), writer.now_ms()) && may_remove_due(writer)) {
                             LAPSE_TRY_ASSIGN(batch,
                                              remove_due(&writer, std::min<uint64_t>(kBatchKeys, limit),
                                                         std::min(kFoundAtOnce, limit), due, removed));
                           }
                           LAPSE_TRY_ASSIGN(reclaimed, writer.transaction()->reclaim(kBatchKeys));
                           return {};
                         },
                         {.sweeps = false}));
  total->removed += batch.removed;
  total->more_due = batch.more_due;
  return reclaimed;
}

}  // namespace

Status purge_family(Scope* scope, const std::shared_ptr<Family>& family, const PurgeOptions& options,
                    PurgeResult* total) {
  *total = {};
  if (options.budget.count() < 0)
    return Status(
        StatusCode::kInvalidArgument,
        "purge_expired(): a budget of " + std::to_string(options.budget.count()) + " ms is negative");
  if (scope->state().clock_in_doubt()) return {};  // and no writer is taken for it
  const Stopwatch stopwatch;
  const auto within_budget = [&] {
    return options.budget == kForever ||
           stopwatch.elapsed_us() / 1000 < static_cast<uint64_t>(options.budget.count());
  };
  const bool reclaims_all = options.limit == PurgeOptions().limit && scope->commits_each_write();
  std::vector<Expiring> removed;
  Status status = scope->run([&]() -> Status {
    DueEntries due;
    for (bool more = true; more;) {
      LAPSE_TRY_ASSIGN(const uint64_t reclaimed,
                       purge_batch(scope, family, options.limit - total->removed, &due,
                                   options.removed ? &removed : nullptr, total));
      if (scope->commits_each_write()) tell(options, family->name, &removed);
      more = (total->more_due && total->removed < options.limit) || (reclaimed > 0 && reclaims_all);
      more = more && within_budget();
    }
    return {};
  });
  if (!status.ok()) {
    if (!scope->commits_each_write()) *total = {};
    return status;
  }
  tell(options, family->name, &removed);
  return {};
}

}  // namespace lapse::internal
