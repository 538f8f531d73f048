#include "server/commands/family_policies.h"

#include <chrono>
#include <limits>
#include <optional>

#include "base/try.h"
#include "server/commands/moment.h"
#include "server/refusal.h"
#include "server/text.h"

namespace lapse::server {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view kYesNo = "yes or no";
constexpr std::string_view kDuration = "a duration as 500ms, 30s, 15m, 12h or 7d; 0: none";

std::optional<bool> to_yes_no(std::string_view text) {
  if (same_word(text, "yes")) return true;
  if (same_word(text, "no")) return false;
  return std::nullopt;
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

template <bool FamilyOptions::*kField>
bool set_yes_no(FamilyOptions* options, std::string_view text) {
  const std::optional<bool> value = to_yes_no(text);
  if (value) options->*kField = *value;
  return value.has_value();
}

template <bool FamilyOptions::*kField>
std::string get_yes_no(const FamilyOptions& options) {
  return yes_no(options.*kField);
}

// 0 needs no unit.
std::optional<milliseconds> to_duration_or_none(std::string_view text) {
  return text == "0" ? milliseconds(0) : to_duration(text);
}

std::string text_or_none(milliseconds duration) {
  return duration.count() == 0 ? "0" : duration_text(duration);
}

template <milliseconds FamilyOptions::*kField>
bool set_duration(FamilyOptions* options, std::string_view text) {
  const std::optional<milliseconds> value = to_duration_or_none(text);
  if (value) options->*kField = *value;
  return value.has_value();
}

template <milliseconds FamilyOptions::*kField>
std::string get_duration(const FamilyOptions& options) {
  return text_or_none(options.*kField);
}

bool set_jitter(FamilyOptions* options, std::string_view text) {
  const std::optional<int64_t> percent = to_integer(text);
  if (!percent || *percent < 0 || *percent > 100) return false;
  options->jitter_percent = static_cast<int>(*percent);
  return true;
}

std::string get_jitter(const FamilyOptions& options) { return std::to_string(options.jitter_percent); }

bool set_history(FamilyOptions* options, std::string_view text) {
  const std::optional<bool> value = to_yes_no(text);
  if (!value) return false;
  if (*value) {
    if (!options->history) options->history.emplace();
  } else {
    options->history.reset();
  }
  return true;
}

// A limit of history turns it on.
HistoryPolicy& history_of(FamilyOptions* options) {
  return options->history ? *options->history : options->history.emplace();
}

bool set_keep_last(FamilyOptions* options, std::string_view text) {
  const std::optional<int64_t> number = to_integer(text);
  if (!number || *number < 0 || *number > std::numeric_limits<uint32_t>::max()) return false;
  history_of(options).keep_last = static_cast<uint32_t>(*number);
  return true;
}

bool set_keep_for(FamilyOptions* options, std::string_view text) {
  const std::optional<milliseconds> duration = to_duration_or_none(text);
  if (duration) history_of(options).keep_for = *duration;
  return duration.has_value();
}

constexpr Policy kPolicies[] = {
    {"counted", kYesNo, set_yes_no<&FamilyOptions::counted>, get_yes_no<&FamilyOptions::counted>},
    {"revisions", kYesNo, set_yes_no<&FamilyOptions::revisions>, get_yes_no<&FamilyOptions::revisions>},
    {"default-ttl", kDuration, set_duration<&FamilyOptions::default_ttl>,
     get_duration<&FamilyOptions::default_ttl>},
    {"max-ttl", kDuration, set_duration<&FamilyOptions::max_ttl>, get_duration<&FamilyOptions::max_ttl>},
    {"require-ttl", kYesNo, set_yes_no<&FamilyOptions::require_ttl>, get_yes_no<&FamilyOptions::require_ttl>},
    {"jitter", "a percentage from 0 to 100", set_jitter, get_jitter},
    {"history", kYesNo, set_history,
     [](const FamilyOptions& options) { return yes_no(options.history.has_value()); }},
    {"history-keep-last", "a number of values; 0: any", set_keep_last,
     [](const FamilyOptions& options) {
       return std::to_string(options.history.value_or(HistoryPolicy()).keep_last);
     }},
    {"history-keep-for", kDuration, set_keep_for,
     [](const FamilyOptions& options) {
       return text_or_none(options.history.value_or(HistoryPolicy()).keep_for);
     }},
};

Status set_policy(std::string_view name, std::string_view value, FamilyOptions* options) {
  std::string known;
  for (const Policy& policy : kPolicies) {
    if (!same_word(policy.name, name)) {
      known.append(known.empty() ? "" : ", ").append(policy.name);
      continue;
    }
    if (policy.set(options, value)) return {};
    return refuse("ERR " + std::string(policy.name) + " must be " + std::string(policy.values));
  }
  return refuse("ERR unknown policy '" + std::string(name) + "': there are " + known);
}

}  // namespace

std::span<const Policy> policies() { return kPolicies; }

Status set_policies(std::span<const std::string_view> pairs, FamilyOptions* options) {
  if (pairs.size() % 2 != 0)
    return refuse("ERR policies are pairs of a name and a value; the last has no value");
  FamilyOptions changed = *options;
  for (size_t i = 0; i < pairs.size(); i += 2) LAPSE_TRY(set_policy(pairs[i], pairs[i + 1], &changed));
  *options = changed;
  return {};
}

}  // namespace lapse::server
