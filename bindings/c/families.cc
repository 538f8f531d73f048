// Column families: creating, opening, listing, dropping.

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bindings/c/call.h"

namespace lapse::c {

namespace {

Outcome not_negative(int64_t value, const char* field) {
  if (value >= 0) return {};
  return Outcome::error(std::string(field) + " is " + std::to_string(value) + ": it cannot be negative");
}

Outcome take_family_config(const KVFamilyConfig* config, FamilyOptions* options) {
  using std::chrono::milliseconds;
  if (config == nullptr) return {};
  KVSTORE_TRY(not_negative(config->historyKeepLast, "historyKeepLast"));
  KVSTORE_TRY(not_negative(config->historyKeepForMs, "historyKeepForMs"));
  KVSTORE_TRY(not_negative(config->defaultTtlMs, "defaultTtlMs"));
  KVSTORE_TRY(not_negative(config->maxTtlMs, "maxTtlMs"));
  if (config->history != 0) {
    options->history = HistoryPolicy{.keep_last = static_cast<uint32_t>(config->historyKeepLast),
                                     .keep_for = milliseconds(config->historyKeepForMs)};
  } else if (config->historyKeepLast != 0 || config->historyKeepForMs != 0) {
    return Outcome::error("historyKeepLast and historyKeepForMs mean nothing while history is 0");
  }
  options->default_ttl = milliseconds(config->defaultTtlMs);
  options->max_ttl = milliseconds(config->maxTtlMs);
  options->require_ttl = config->requireTtl != 0;
  options->counted = config->counted != 0;
  return {};
}

Outcome open_family(KVStore* kv, const char* name, KVColumnFamily** out) {
  KVSTORE_TRY(check_given(name, "name"));
  KVSTORE_TRY(check_given(out, "out"));
  auto opened = std::make_unique<KVColumnFamily>(kv->default_family);
  return opened->handle->read_families([&](auto& families) -> Outcome {
    Result<Family> family = families.family(name);
    if (!family.ok()) return family.status();
    opened->family = std::move(*family);
    *out = opened.release();
    return {};
  });
}

Outcome create_family(KVStore* kv, const char* name, const KVFamilyConfig* config, KVColumnFamily** out) {
  KVSTORE_TRY(check_given(name, "name"));
  KVSTORE_TRY(check_given(out, "out"));
  FamilyOptions options;
  KVSTORE_TRY(take_family_config(config, &options));
  // Before there is a family to be handed out: the call must not fail for want of memory afterwards.
  auto created = std::make_unique<KVColumnFamily>(kv->default_family);
  return created->handle->write_families([&](auto& families) -> Outcome {
    Result<Family> family = families.create_family(name, options);
    if (family.ok()) {
      created->family = std::move(*family);
      *out = created.release();
      return {};
    }
    const bool is_there = family.status().code() == StatusCode::kBusy && families.family(name).ok();
    return is_there ? Outcome::error("there is a family \"" + std::string(name) + "\" already")
                    : Outcome(family.status());
  });
}

void free_list(char** names, size_t count) {
  for (size_t i = 0; i < count; ++i) snkv_free(names[i]);
  snkv_free(names);
}

Outcome list_families(Handle& handle, char*** names, int* count) {
  KVSTORE_TRY(check_given(names, "names"));
  KVSTORE_TRY(check_given(count, "count"));
  std::vector<std::string> families;
  KVSTORE_TRY(handle.read_families([&](auto& source) -> Outcome {
    Result<std::vector<std::string>> found = source.list_families();
    if (found.ok()) families = std::move(*found);
    return found.status();
  }));
  char** const list = static_cast<char**>(snkv_malloc(families.size() * sizeof(char*)));
  if (list == nullptr) throw std::bad_alloc();
  for (size_t i = 0; i < families.size(); ++i) {
    const std::string& name = families[i];
    list[i] = static_cast<char*>(snkv_malloc(name.size() + 1));
    if (list[i] == nullptr) {
      free_list(list, i);
      throw std::bad_alloc();
    }
    std::memcpy(list[i], name.c_str(), name.size() + 1);
  }
  *names = list;
  *count = to_int(families.size());
  return {};
}

}  // namespace

}  // namespace lapse::c

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_cf_create(KVStore* kv, const char* name, KVColumnFamily** out) {
  return kvstore_cf_create_v2(kv, name, nullptr, out);
}

int kvstore_cf_create_v2(KVStore* kv, const char* name, const KVFamilyConfig* config, KVColumnFamily** out) {
  clear_outputs(out);
  return on_store(kv, [&](Handle&) { return create_family(kv, name, config, out); });
}

int kvstore_cf_configure(KVStore* kv, const char* name, const KVFamilyConfig* config) {
  return on_store(kv, [&](Handle& handle) -> Outcome {
    KVSTORE_TRY(check_given(name, "name"));
    KVSTORE_TRY(check_given(config, "config"));
    lapse::FamilyOptions options;
    KVSTORE_TRY(take_family_config(config, &options));
    return handle.write_apart(
        [&](lapse::Store& store) -> Outcome { return store.set_family_options(name, options); });
  });
}

int kvstore_cf_open(KVStore* kv, const char* name, KVColumnFamily** out) {
  clear_outputs(out);
  return on_store(kv, [&](Handle&) { return open_family(kv, name, out); });
}

int kvstore_cf_get_default(KVStore* kv, KVColumnFamily** out) { return kvstore_cf_open(kv, "default", out); }

int kvstore_cf_drop(KVStore* kv, const char* name) {
  return on_store(kv, [&](Handle& handle) -> Outcome {
    KVSTORE_TRY(check_given(name, "name"));
    return handle.write_families([&](auto& families) -> Outcome { return families.drop_family(name); });
  });
}

int kvstore_cf_list(KVStore* kv, char*** names, int* count) {
  clear_outputs(names, count);
  return on_store(kv, [&](Handle& handle) { return list_families(handle, names, count); });
}

void kvstore_cf_close(KVColumnFamily* cf) {
  if (cf != nullptr) destroy(cf, *cf->handle);
}

}  // extern "C"
