// The bytes and multiplications that a model needs for a token, to compare with a measured speed.
#pragma once

#include <cstdint>
#include <string>

#include "apps/inferflux_bench/ceiling.h"
#include "base/thread_pool.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::apps {

// The unit that multiplies most of the weights: int8 for block types, BF16 for BF16, float for the rest. F16 has more
// mantissa than BF16 can hold, so it counts as float.
enum class MatmulUnit { kInt8, kBf16, kFloat };

struct WorkModel {
  double layer_bytes = 0.0;           // weights of all layers, in the file's types, or in 4 bits if the CPU packs them
  double output_bytes = 0.0;          // of the projection to logits
  double layer_operations = 0.0;      // of one token; a multiply-add counts as two
  double output_operations = 0.0;     // of one row of logits
  double kv_bytes = 0.0;              // of one position, keys and values
  double state_bytes = 0.0;           // of a sequence's recurrent states: read and written by each step
  double attention_operations = 0.0;  // of one token for one position that it sees
  // The part of these that only rows with a requested output need: everything but K/V in the last layer.
  double last_operations = 0.0;
  double last_attention_operations = 0.0;
  MatmulUnit unit = MatmulUnit::kFloat;
};

// `kv_token_bytes`: of one token's keys and values in all layers. `packs`: of the CPU backend, which packs some weights
// tighter than their file; null: weights are read as the file has them.
WorkModel DescribeWork(const model::ModelSource& source, const model::ModelConfig& config, int64_t kv_token_bytes,
                       ThreadPool* packs);

// Bytes that an engine needs for the KV and the recurrent states of `sequences` sequences of `tokens` tokens.
int64_t MemoryFor(const WorkModel& work, int tokens, int sequences);

// A step of `sequences` sequences, `tokens` new tokens each, the first at `position`.
struct StepShape {
  int sequences = 1;
  int tokens = 1;
  int position = 0;
};

struct Bound {
  double seconds = 0.0;   // lower bound for the step
  const char* name = "";  // "bandwidth" or "compute"
};

Bound LeastTime(const WorkModel& work, const StepShape& step, const Ceilings& ceilings);

}  // namespace inferflux::apps
