// Messages: who hears what is published.
//
// A confirmation is a push, and so is a message: RESP3 tells them from replies, RESP2 has arrays for both.

#include <optional>
#include <vector>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/help.h"
#include "server/commands/pattern.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

using Change = bool (PubSub::*)(Session*, std::string_view);
using Topics = std::set<std::string, std::less<>>;

void confirm(Call& call, std::string_view what, std::optional<std::string_view> topic) {
  call.reply.push(3);
  call.reply.bulk(what);
  if (topic) {
    call.reply.bulk(*topic);
  } else {
    call.reply.null();
  }
  call.reply.integer(static_cast<int64_t>(call.session.subscriptions()));
}

void change_each(Call& call, std::string_view what, Change change) {
  for (const std::string_view topic : call.arguments.subspan(1)) {
    (call.server.pubsub().*change)(&call.session, topic);
    confirm(call, what, topic);
  }
}

// Without topics it is all of them, and each is confirmed; where there is none, nothing is.
void leave(Call& call, std::string_view what, Change change, const Topics& all) {
  if (call.size() > 1) return change_each(call, what, change);
  if (all.empty()) return confirm(call, what, std::nullopt);
  const std::vector<std::string> topics(all.begin(), all.end());
  for (const std::string& topic : topics) {
    (call.server.pubsub().*change)(&call.session, topic);
    confirm(call, what, topic);
  }
}

// Before any is subscribed to: confirmations cannot be taken back.
Status check_room(const Call& call, const Topics& present) {
  size_t bytes = call.session.subscribed_bytes;
  for (const std::string_view topic : call.arguments.subspan(1)) {
    if (!present.contains(topic)) bytes += bytes_to_remember(topic);
  }
  if (bytes <= static_cast<size_t>(call.server.config().max_subscribed_bytes)) return {};
  return refuse("ERR too many subscriptions (max-subscribed-bytes)");
}

Status subscribe(Call& call) {
  LAPSE_TRY(check_room(call, call.session.channels));
  change_each(call, "subscribe", &PubSub::subscribe);
  return {};
}

Status psubscribe(Call& call) {
  for (const std::string_view pattern : call.arguments.subspan(1)) LAPSE_TRY(check_pattern(pattern));
  LAPSE_TRY(check_room(call, call.session.patterns));
  change_each(call, "psubscribe", &PubSub::subscribe_pattern);
  return {};
}

Status unsubscribe(Call& call) {
  leave(call, "unsubscribe", &PubSub::unsubscribe, call.session.channels);
  return {};
}

Status punsubscribe(Call& call) {
  leave(call, "punsubscribe", &PubSub::unsubscribe_pattern, call.session.patterns);
  return {};
}

Status publish(Call& call) {
  const size_t receivers = call.server.publish(call[1], call[2], Output::Kind::kPlain);
  call.reply.integer(static_cast<int64_t>(receivers));
  return {};
}

// ------------------------------------------------------------------------------------------- PUBSUB

Status channels(Call& call) {
  if (call.size() > 3) return wrong_subcommand(call);
  const std::string_view pattern = call.size() == 3 ? call[2] : "*";
  LAPSE_TRY(check_pattern(pattern));
  const size_t begin = call.reply.position();
  size_t found = 0;
  for (const auto& [name, subscribers] : call.server.pubsub().channels()) {
    if (!matches_glob(pattern, name)) continue;
    call.reply.bulk(name);
    LAPSE_TRY(call.check_output());
    ++found;
  }
  call.reply.insert_array(begin, found);
  return {};
}

Status numsub(Call& call) {
  call.reply.array(2 * (call.size() - 2));
  for (const std::string_view channel : call.arguments.subspan(2)) {
    call.reply.bulk(channel);
    call.reply.integer(static_cast<int64_t>(call.server.pubsub().subscribers(channel)));
  }
  return {};
}

Status numpat(Call& call) {
  call.reply.integer(static_cast<int64_t>(call.server.pubsub().pattern_count()));
  return {};
}

// There is one shard, and nobody can subscribe to it.
Status shardchannels(Call& call) {
  if (call.size() > 3) return wrong_subcommand(call);
  call.reply.array(0);
  return {};
}

Status shardnumsub(Call& call) {
  call.reply.array(2 * (call.size() - 2));
  for (const std::string_view channel : call.arguments.subspan(2)) {
    call.reply.bulk(channel);
    call.reply.integer(0);
  }
  return {};
}

constexpr uint32_t kAsking = kPubsub | kLoading | kStale;
constexpr uint32_t kSubscribing = kAsking | kNoScript | kWhileSubscribed | kPushes;

constexpr Command kPubsubCommands[] = {
    {"pubsub|channels",
     -2,
     kAsking,
     {},
     "pubsub",
     "2.8.0",
     "Lists the channels that have subscribers.",
     channels},
    help_row("pubsub|help", "pubsub", "6.2.0"),
    {"pubsub|numpat",
     2,
     kAsking,
     {},
     "pubsub",
     "2.8.0",
     "Counts the patterns that have subscribers.",
     numpat},
    {"pubsub|numsub", -2, kAsking, {}, "pubsub", "2.8.0", "Counts the subscribers of channels.", numsub},
    {"pubsub|shardchannels",
     -2,
     kAsking,
     {},
     "pubsub",
     "7.0.0",
     "Lists the channels of shards: none.",
     shardchannels},
    {"pubsub|shardnumsub",
     -2,
     kAsking,
     {},
     "pubsub",
     "7.0.0",
     "Counts the subscribers of shards: none.",
     shardnumsub},
};

constexpr Command kCommands[] = {
    {"psubscribe",
     -2,
     kSubscribing,
     {},
     "pubsub",
     "2.0.0",
     "Listens to the channels that match patterns.",
     psubscribe},
    {"publish",
     3,
     kAsking | kFast | kBlockedByPause,
     {},
     "pubsub",
     "2.0.0",
     "Sends a message to a channel.",
     publish},
    {"pubsub",
     -2,
     0,
     {},
     "pubsub",
     "2.8.0",
     "Tells about channels and subscribers.",
     nullptr,
     kPubsubCommands},
    {"punsubscribe", -1, kSubscribing, {}, "pubsub", "2.0.0", "Listens no longer to patterns.", punsubscribe},
    {"subscribe", -2, kSubscribing, {}, "pubsub", "2.0.0", "Listens to channels.", subscribe},
    {"unsubscribe", -1, kSubscribing, {}, "pubsub", "2.0.0", "Listens no longer to channels.", unsubscribe},
};

}  // namespace

std::span<const Command> pubsub_commands() { return kCommands; }

}  // namespace lapse::server
