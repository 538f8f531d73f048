// Checks that a store's rows agree with each other.

#pragma once

#include "engine/engine.h"
#include "lapse/status.h"

namespace lapse::internal {

// That every row belongs to a family that there is, or is marked as garbage; that rows with deadlines and expiry
// entries are the same set; that history can be read and is in order; that counts are right. kCorrupt says what is not
// so.
Status verify_store(const engine::Reader& reader);

}  // namespace lapse::internal
