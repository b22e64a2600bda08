// One step as plain, serialisable data: the inputs of every sequence, and the requested outputs. Any mix of prefill
// chunks and decodes. The same data drives a local engine, a worker process, and the other ranks of a parallel model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "base/token_mask.h"
#include "compute/sampling.h"
#include "engine/sampling/sampling_params.h"
#include "engine/sequence.h"

namespace inferflux::engine {

struct OutputSpec {
  enum class Kind { kSample, kLogits, kLogprobs, kHidden };

  int32_t token_index = 0;  // index into the item's tokens: the output follows this token
  Kind kind = Kind::kSample;
  SamplingParams sampling;    // kSample
  int32_t prompt_tokens = 0;  // kSample: length of the sequence's prompt, for the penalties
  uint64_t draw = 0;  // kSample: index of this draw in its sequence; it and the seed determine the random number
  // kSample: mirostat's state after the previous draw. If absent, the item's previous output provides it; the first
  // draw of a sequence has none.
  std::optional<float> mirostat_mu;
  std::vector<TokenId> banned;            // kSample: never chosen (end tokens under ignore_eos)
  std::shared_ptr<const TokenMask> mask;  // kSample: only these may be chosen (a grammar's tokens); null: any
  TokenId target = 0;                     // kLogprobs: the token whose log probability is requested
  std::optional<int32_t> top_logprobs;    // kLogprobs: this many more; kSample: also report log probabilities, of the
                                          // chosen token and of this many more
};

struct BatchItem {
  SequenceId sequence;
  std::vector<TokenId> tokens;  // not empty
  int32_t first_position = 0;   // must be the sequence's length: a mismatch is an error, never a silent overwrite
  // Position where the second text of a pair begins; 0: one text. Counts for models whose tokens have types.
  int32_t second_text = 0;
  std::vector<OutputSpec> outputs;
};

struct UnifiedBatch {
  std::vector<BatchItem> items;
};

using compute::kNoToken;
using compute::LogprobEntry;

struct OutputResult {
  TokenId token = kNoToken;          // kSample
  std::optional<float> mirostat_mu;  // kSample with mirostat: its state after this draw
  LogprobEntry chosen;               // kLogprobs, and kSample with top_logprobs
  std::vector<LogprobEntry> top;     // likeliest first
  std::vector<float> logits;         // kLogits: [vocab_size]
  std::vector<float> hidden;         // kHidden: [hidden]
};

struct StepResult {
  std::vector<std::vector<OutputResult>> items;  // [item][output], as requested
  // Duration of the forward pass on its device, if the engine was told to time steps and the device has a clock.
  std::optional<double> device_seconds = {};
};

}  // namespace inferflux::engine
