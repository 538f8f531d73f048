// Memory that crosses the interface. Plain malloc, so that it need not matter which library frees it.

#include <cstdlib>

#include "lapse/kvstore.h"

extern "C" {

void* snkv_malloc(size_t bytes) { return std::malloc(bytes == 0 ? 1 : bytes); }

void snkv_free(void* memory) { std::free(memory); }

}  // extern "C"
