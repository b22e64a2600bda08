// A sequence's handle. It has a generation, so a stale handle is an error and never reaches another sequence's KV.
#pragma once

#include <cstdint>

namespace inferflux::engine {

struct SequenceId {
  uint32_t slot = 0;
  uint32_t generation = 0;  // 0 is never used: a default SequenceId is not valid

  friend bool operator==(const SequenceId&, const SequenceId&) = default;
};

}  // namespace inferflux::engine
