// How much a model must read and multiply for a token: what a measured speed is held against.
#pragma once

#include <cstdint>
#include <string>

#include "apps/inferflux_bench/ceiling.h"
#include "base/thread_pool.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::apps {

// The unit that multiplies most of the weights: bytes for block formats, BF16 for BF16, floats for the rest. F16 has
// more mantissa than BF16 holds, so it counts as floats.
enum class MatmulUnit { kInt8, kBf16, kFloat };

struct WorkModel {
  double layer_bytes = 0.0;           // weights of all layers, as the file holds them, or the CPU in half the bits
  double output_bytes = 0.0;          // of the projection to logits
  double layer_operations = 0.0;      // of one token, two a multiply-add
  double output_operations = 0.0;     // of one row of logits
  double kv_bytes = 0.0;              // of one position, keys and values
  double attention_operations = 0.0;  // of one token for one position that it sees
  // Of those, what only rows that are asked for need: in the last layer all but keys and values.
  double last_operations = 0.0;
  double last_attention_operations = 0.0;
  MatmulUnit unit = MatmulUnit::kFloat;
};

// `kv_token_bytes`: of one token's keys and values in all layers.
WorkModel DescribeWork(const model::ModelSource& source, const model::ModelConfig& config, int64_t kv_token_bytes,
                       ThreadPool& pool);

// A step of `sequences` sequences, `tokens` new tokens each, the first of them at `position`.
struct StepShape {
  int sequences = 1;
  int tokens = 1;
  int position = 0;
};

struct Bound {
  double seconds = 0.0;   // that the step takes at least
  const char* name = "";  // "bandwidth" or "compute"
};

Bound LeastTime(const WorkModel& work, const StepShape& step, const Ceilings& ceilings);

}  // namespace inferflux::apps
