#include "server/slowlog.h"

namespace lapse::server {

namespace {

constexpr size_t kMostArguments = 32;
constexpr size_t kLongestText = 128;

std::string shortened(std::string_view text) {
  if (text.size() <= kLongestText) return std::string(text);
  return std::string(text.substr(0, kLongestText)) + "... (" + std::to_string(text.size() - kLongestText) +
         " more bytes)";
}

}  // namespace

void Slowlog::add(int64_t at_ms, uint64_t us, std::span<const std::string_view> arguments,
                  std::string_view client_address, std::string_view client_name, size_t keep) {
  Entry entry{next_id_++, at_ms, us, {}, std::string(client_address), shortened(client_name)};
  const size_t shown = arguments.size() > kMostArguments ? kMostArguments - 1 : arguments.size();
  for (const std::string_view argument : arguments.first(shown))
    entry.arguments.push_back(shortened(argument));
  if (shown < arguments.size())
    entry.arguments.push_back("... (" + std::to_string(arguments.size() - shown) + " more arguments)");
  entries_.push_front(std::move(entry));
  while (entries_.size() > keep) entries_.pop_back();
}

}  // namespace lapse::server
