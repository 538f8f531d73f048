#include "server/events.h"

#include <array>
#include <utility>

namespace lapse::server {

namespace {

constexpr std::array<std::pair<char, uint32_t>, 15> kLetters = {{
    {'A', kAllEvents},
    {'g', kGeneric},
    {'$', kString},
    {'l', kList},
    {'s', kSet},
    {'h', kHash},
    {'z', kZset},
    {'x', kExpired},
    {'e', kEvicted},
    {'t', kStream},
    {'d', kModule},
    {'n', kNew},
    {'K', kKeyspace},
    {'E', kKeyevent},
    {'m', kKeyMiss},
}};

}  // namespace

std::optional<uint32_t> parse_event_classes(std::string_view letters) {
  uint32_t classes = 0;
  for (const char letter : letters) {
    uint32_t meant = 0;
    for (const auto& [known, bits] : kLetters) {
      if (known == letter) meant = bits;
    }
    if (meant == 0) return std::nullopt;
    classes |= meant;
  }
  return classes;
}

std::string event_class_letters(uint32_t classes) {
  std::string letters;
  for (const auto& [letter, bits] : kLetters) {
    if ((classes & bits) != bits) continue;
    letters += letter;
    if (letter == 'A') classes &= ~uint32_t{kAllEvents};
  }
  return letters;
}

}  // namespace lapse::server
