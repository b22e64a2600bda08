// What rank 0 tells the other ranks of a model to do: the steps of its engine, as plain data. Only rank 0 knows
// sequences, and only it samples.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "collective/collective.h"
#include "compute/params.h"
#include "engine/kv_blocks/block_manager.h"

namespace inferflux::engine {

struct RankStep {
  enum class Kind : int32_t { kForward, kCopyBlock, kEnd };

  Kind kind = Kind::kEnd;
  compute::StepGeometry geometry;    // kForward
  std::vector<int32_t> output_rows;  // kForward: of the step
  std::vector<int32_t> token_types;  // kForward
  bool logits = false;               // kForward: whether logits of outputs are wanted,
  std::vector<int32_t> logit_rows;   //   and of which; empty: of all
  BlockCopy copy;                    // kCopyBlock
};

// From rank 0 to the others.
Status SendStep(collective::Collective& ranks, const RankStep& step);
Result<RankStep> ReceiveStep(collective::Collective& ranks);

}  // namespace inferflux::engine
