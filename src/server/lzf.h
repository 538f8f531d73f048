// LZF, as Redis compresses longer strings by it. Only reading: what we write is left as it is.
//
//   000LLLLL                    the next L+1 bytes are literal
//   LLLooooo oooooooo           L+2 bytes from o+1 bytes back, L in 1 … 6
//   111ooooo LLLLLLLL oooooooo  L+9 bytes from o+1 bytes back
//
// Valid if and only if it ends where a step ends, no step reaches back before the beginning, and all of it has the length
// that was promised.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lapse::server {

// Nothing: not valid, or not `length` bytes. Memory is taken for what comes out, not for what is promised.
std::optional<std::string> lzf_decompress(std::string_view compressed, size_t length);

}  // namespace lapse::server
