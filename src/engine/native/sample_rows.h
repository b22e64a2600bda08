// Which of a step's logits are sampled on the device, for backends that sample (compute::DeviceSampling).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/function_ref.h"
#include "compute/sampling.h"
#include "engine/step_outputs.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// What the host gets for a step's outputs that need logits, indexed in the order of items and outputs.
struct LogitOutputs {
  std::vector<float> logits;                                  // [outputs that were not sampled, vocab]
  std::vector<std::optional<compute::SampledToken>> sampled;  // by output; empty: none was sampled on the device
};

struct DeviceRows {
  std::vector<int32_t> sampled;          // outputs that the device samples
  std::vector<compute::SampleRow> rows;  // the sampler's inputs; views into the batch and `histories`
  std::vector<int32_t> read;             // outputs whose logits the host needs
  std::vector<std::unique_ptr<const std::vector<TokenId>>> histories;  // per item, including the step's tokens
};

// `tokens_of`: the sequences' tokens before the step. Mirostat rows stay on the host: each needs the state after the
// previous one.
DeviceRows SplitSampling(SequenceTokens tokens_of, const UnifiedBatch& batch,
                         FunctionRef<bool(const compute::SampleRow&)> can_sample);

}  // namespace inferflux::engine
