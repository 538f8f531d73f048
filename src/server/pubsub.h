// PubSub: who has subscribed to which channels and patterns.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "server/session.h"

namespace lapse::server {

class PubSub {
 public:
  // Whether it is new to the session.
  bool subscribe(Session* session, std::string_view channel);
  bool unsubscribe(Session* session, std::string_view channel);
  bool subscribe_pattern(Session* session, std::string_view pattern);
  bool unsubscribe_pattern(Session* session, std::string_view pattern);
  void forget(Session* session);

  // Calls back for each subscriber, in the order of their sessions' numbers: `pattern` is what it subscribed with, or null
  // for the channel itself. Returns how many there were.
  using Deliver = std::function<void(Session& to, const std::string* pattern)>;
  size_t publish(std::string_view channel, const Deliver& deliver) const;

  bool empty() const { return channels_.empty() && patterns_.empty(); }
  size_t subscribers(std::string_view channel) const;
  size_t pattern_count() const { return patterns_.size(); }

  struct ById {
    bool operator()(const Session* a, const Session* b) const { return a->id < b->id; }
  };
  using Sessions = std::set<Session*, ById>;
  using Topics = std::map<std::string, Sessions, std::less<>>;
  // Those with subscribers.
  const Topics& channels() const { return channels_; }

 private:
  static bool add(Topics* topics, std::string_view topic, Session* session);
  static bool remove(Topics* topics, std::string_view topic, Session* session);

  Topics channels_;
  Topics patterns_;
};

}  // namespace lapse::server
