#include "server/lzf.h"

#include <cstdint>

namespace lapse::server {

std::optional<std::string> lzf_decompress(std::string_view compressed, size_t length) {
  std::string out;
  size_t at = 0;
  const auto left = [&] { return compressed.size() - at; };
  const auto take = [&] { return static_cast<size_t>(static_cast<uint8_t>(compressed[at++])); };
  while (at < compressed.size()) {
    const size_t control = take();
    if (control < 32) {
      const size_t literals = control + 1;
      if (left() < literals || length - out.size() < literals) return std::nullopt;
      out.append(compressed.substr(at, literals));
      at += literals;
      continue;
    }
    size_t repeated = control >> 5;
    if (left() < (repeated == 7 ? 2U : 1U)) return std::nullopt;
    if (repeated == 7) repeated += take();
    repeated += 2;
    const size_t back = ((control & 31) << 8 | take()) + 1;
    if (back > out.size() || length - out.size() < repeated) return std::nullopt;
    // Byte by byte: a step may repeat what it is just writing.
    for (size_t i = 0; i < repeated; ++i) out.push_back(out[out.size() - back]);
  }
  return out.size() == length ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace lapse::server
