// Durability: what a commit that returned survives.

#pragma once

namespace lapse {

enum class Durability {
  kFull,    // a commit returns when it survives a power cut; commits that wait together share a sync
  kNormal,  // a commit returns when it survives kill -9; synced at least every sync_interval while commits
            // come in (by the background thread also when they do not), and at close
  kNone,    // as kNormal, without the interval
};

}  // namespace lapse
