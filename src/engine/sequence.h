// A sequence's handle. It carries a generation, so that a stale handle is an error and never somebody else's KV.
#pragma once

#include <cstdint>

namespace inferflux::engine {

struct SequenceId {
  uint32_t slot = 0;
  uint32_t generation = 0;  // 0 is never handed out: a default SequenceId names nothing

  friend bool operator==(const SequenceId&, const SequenceId&) = default;
};

}  // namespace inferflux::engine
