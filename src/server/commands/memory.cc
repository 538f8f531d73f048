// MEMORY: what keys and the process take.

#include <malloc.h>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/help.h"
#include "server/process_info.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// What a row takes in the tree beside key and value: the page's pointer to it and its header, the family's prefix, the tag.
constexpr size_t kRowBytes = 2 + 8 + 2 + 1;
constexpr size_t kDeadlineBytes = 8;                 // in the row
constexpr size_t kExpiryEntryBytes = 2 + 8 + 2 + 8;  // in the index of deadlines, beside the key
constexpr size_t kRevisionBytes = 16;

// MEMORY USAGE key [SAMPLES count]. There is nothing to sample: a string is read whole.
Status usage(Call& call) {
  if (call.size() != 3) {
    if (call.size() != 5 || !same_word(call[3], "samples")) return syntax_error();
    const std::optional<int64_t> samples = to_integer(call[4]);
    if (!samples) return not_an_integer();
    if (*samples < 0) return syntax_error();
  }
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<Entry> entry, keys->get_entry(call[2]));
  if (!entry) {
    call.reply.null();
    return {};
  }
  size_t bytes = kRowBytes + call[2].size() + entry->value.size();
  if (entry->deadline_ms != kNever) bytes += kDeadlineBytes + kExpiryEntryBytes + call[2].size();
  if (entry->revision != 0) bytes += kRevisionBytes;
  call.reply.integer(static_cast<int64_t>(bytes));
  return {};
}

size_t bytes_of_clients(const Server& server) {
  size_t bytes = 0;
  for (const auto& [id, session] : server.sessions()) {
    bytes +=
        sizeof(Session) + session->input.capacity() + session->queue.bytes + session->output.pending_bytes();
  }
  return bytes;
}

Status stats(Call& call) {
  const ProcessInfo process = read_process_info();
  uint64_t keys = 0;
  for (int db = 0; db < call.server.databases().numbered(); ++db) {
    LAPSE_TRY_ASSIGN(const Reader* reader, call.read(db));
    LAPSE_TRY_ASSIGN(const uint64_t count, reader->estimated_count());
    keys += count;
  }
  const auto add = [&](std::string_view name, uint64_t value) {
    call.reply.bulk(name);
    call.reply.integer(static_cast<int64_t>(value));
  };
  call.reply.map(6);
  add("peak.allocated", process.peak_resident_bytes);
  add("total.allocated", process.anonymous_bytes);
  add("clients.normal", bytes_of_clients(call.server));
  add("keys.count", keys);
  add("keys.bytes-per-key", keys == 0 ? 0 : process.anonymous_bytes / keys);
  add("dataset.bytes", call.server.store().stats().buffer_bytes);
  return {};
}

Status doctor(Call& call) {
  call.reply.verbatim(
      "Values are in the file, which the system caches as memory allows: what INFO calls used_memory is "
      "buffers and "
      "clients.\n");
  return {};
}

Status purge(Call& call) {
  malloc_trim(0);
  call.reply.ok();
  return {};
}

constexpr Command kMemoryCommands[] = {
    {"memory|doctor", 2, 0, {}, "server", "4.0.0", "Says in words what the memory is for.", doctor},
    help_row("memory|help", "server", "4.0.0"),
    {"memory|purge", 2, 0, {}, "server", "4.0.0", "Gives unused memory back to the system.", purge},
    {"memory|stats", 2, 0, {}, "server", "4.0.0", "Tells what the memory is for.", stats},
    {"memory|usage",
     -3,
     kReadOnly,
     {2, 2, 1},
     "server",
     "4.0.0",
     "Returns how many bytes a key takes.",
     usage},
};

constexpr Command kCommands[] = {
    {"memory", -2, 0, {}, "server", "4.0.0", "Tells what memory is used for.", nullptr, kMemoryCommands},
};

}  // namespace

std::span<const Command> memory_commands() { return kCommands; }

}  // namespace lapse::server
