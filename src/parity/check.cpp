#include "parity/check.h"

#include <array>

#include "parity/check_list.h"

namespace inferflux::parity {

std::span<const EngineCheck> EngineChecks() {
  static constexpr std::array kChecks = {
      EngineCheck{"prefill", CheckPrefill},        EngineCheck{"chunked prefill", CheckChunks},
      EngineCheck{"decode", CheckDecode},          EngineCheck{"unified batch", CheckUnifiedBatch},
      EngineCheck{"prefix copy", CheckPrefixCopy}, EngineCheck{"fork", CheckFork},
      EngineCheck{"truncate", CheckTruncate},      EngineCheck{"save and restore", CheckSaveRestore},
      EngineCheck{"refused steps", CheckRefusals}, EngineCheck{"samplers", CheckSamplers},
      EngineCheck{"logprobs", CheckLogprobs},      EngineCheck{"greedy text", CheckGreedy},
  };
  return kChecks;
}

std::span<const GenerationCheck> GenerationChecks() {
  static constexpr std::array kChecks = {
      GenerationCheck{"many at once", CheckCrowd},  GenerationCheck{"stop strings", CheckStops},
      GenerationCheck{"length limit", CheckLength}, GenerationCheck{"cancellation", CheckCancellation},
      GenerationCheck{"grammars", CheckGrammars},
  };
  return kChecks;
}

}  // namespace inferflux::parity
