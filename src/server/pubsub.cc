#include "server/pubsub.h"

#include "server/text.h"

namespace lapse::server {

bool PubSub::add(Topics* topics, std::string_view topic, Session* session) {
  auto at = topics->find(topic);
  if (at == topics->end()) at = topics->emplace(topic, Sessions()).first;
  return at->second.insert(session).second;
}

bool PubSub::remove(Topics* topics, std::string_view topic, Session* session) {
  const auto at = topics->find(topic);
  if (at == topics->end()) return false;
  const bool was = at->second.erase(session) > 0;
  if (at->second.empty()) topics->erase(at);
  return was;
}

bool PubSub::subscribe(Session* session, std::string_view channel) {
  if (session->channels.emplace(channel).second) session->subscribed_bytes += bytes_to_remember(channel);
  return add(&channels_, channel, session);
}

bool PubSub::unsubscribe(Session* session, std::string_view channel) {
  const bool was = remove(&channels_, channel, session);
  if (const auto at = session->channels.find(channel); at != session->channels.end()) {
    session->channels.erase(at);
    session->subscribed_bytes -= bytes_to_remember(channel);
  }
  return was;
}

bool PubSub::subscribe_pattern(Session* session, std::string_view pattern) {
  if (session->patterns.emplace(pattern).second) session->subscribed_bytes += bytes_to_remember(pattern);
  return add(&patterns_, pattern, session);
}

bool PubSub::unsubscribe_pattern(Session* session, std::string_view pattern) {
  const bool was = remove(&patterns_, pattern, session);
  if (const auto at = session->patterns.find(pattern); at != session->patterns.end()) {
    session->patterns.erase(at);
    session->subscribed_bytes -= bytes_to_remember(pattern);
  }
  return was;
}

void PubSub::forget(Session* session) {
  for (const std::string& channel : session->channels) remove(&channels_, channel, session);
  for (const std::string& pattern : session->patterns) remove(&patterns_, pattern, session);
  session->channels.clear();
  session->patterns.clear();
  session->subscribed_bytes = 0;
}

size_t PubSub::publish(std::string_view channel, const Deliver& deliver) const {
  size_t receivers = 0;
  if (const auto at = channels_.find(channel); at != channels_.end()) {
    for (Session* session : at->second) deliver(*session, nullptr);
    receivers += at->second.size();
  }
  for (const auto& [pattern, sessions] : patterns_) {
    if (!matches_glob(pattern, channel)) continue;
    for (Session* session : sessions) deliver(*session, &pattern);
    receivers += sessions.size();
  }
  return receivers;
}

size_t PubSub::subscribers(std::string_view channel) const {
  const auto at = channels_.find(channel);
  return at == channels_.end() ? 0 : at->second.size();
}

}  // namespace lapse::server
