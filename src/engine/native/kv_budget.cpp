#include "engine/native/kv_budget.h"

#include <algorithm>
#include <limits>

#include "base/host_memory.h"
#include "compute/recurrent_state.h"

namespace inferflux::engine {
namespace {

constexpr int32_t kMaxBlockSize = 1024;
constexpr int32_t kMaxSequences = 65536;

struct StateBudget {
  int32_t states = 0;
  int32_t sequences = 0;
};

// A live sequence holds a state, and a step stores a second one. The rest are checkpoints: as many as sequences again,
// and some for prefixes that come back.
Result<StateBudget> PlanStates(int64_t state_bytes, int32_t max_sequences, int64_t budget) {
  constexpr int64_t kCheckpoints = 256, kOfOne = 4;
  const int64_t slots = std::min(budget / state_bytes, 3 * int64_t{max_sequences} + kCheckpoints);
  if (slots < kOfOne) {
    return Fail(ErrorCode::kResourceExhausted,
                "{} bytes for recurrent states do not hold {} of {} bytes, which one sequence needs", budget, kOfOne,
                state_bytes);
  }
  return StateBudget{.states = static_cast<int32_t>(slots),
                     .sequences = static_cast<int32_t>(std::min<int64_t>(max_sequences, slots / kOfOne))};
}

}  // namespace

int64_t AvailableMemory() { return ReadHostMemory().free; }

Result<KvBudget> PlanKv(const model::ModelConfig& config, int64_t token_bytes, const EngineOptions& options,
                        int64_t available_bytes) {
  const auto in_range = [](int64_t value, int64_t least, int64_t most) { return value >= least && value <= most; };
  if (!in_range(options.block_size, 1, kMaxBlockSize)) {
    return Fail(ErrorCode::kInvalidArgument, "a KV block of {} tokens: it must hold 1 to {}", options.block_size,
                kMaxBlockSize);
  }
  if (!in_range(options.max_sequences, 1, kMaxSequences)) {
    return Fail(ErrorCode::kInvalidArgument, "{} sequences: there may be 1 to {}", options.max_sequences,
                kMaxSequences);
  }
  if (!in_range(options.context, 0, config.context)) {
    return Fail(ErrorCode::kInvalidArgument, "a context of {} tokens: this model was trained for {}", options.context,
                config.context);
  }
  if (options.kv_bytes < 0)
    return Fail(ErrorCode::kInvalidArgument, "a negative KV budget: {} bytes", options.kv_bytes);

  const int32_t context = options.context > 0 ? options.context : config.context;
  const int64_t block_bytes = std::max<int64_t>(1, token_bytes * options.block_size);
  const int64_t blocks_of_one = (int64_t{context} + options.block_size - 1) / options.block_size;
  // The most that all sequences together can fill, and one block for a copy.
  const int64_t useful = blocks_of_one * options.max_sequences + 1;
  int64_t budget = options.kv_bytes > 0 ? options.kv_bytes : available_bytes / 4;
  StateBudget states{.sequences = options.max_sequences};
  if (IsRecurrent(config)) {
    const int64_t state_bytes = compute::StateBytes(StateLayers(config));
    if (state_bytes <= 0) {
      return Fail(ErrorCode::kInvalidArgument, "a recurrent state of {} bytes", state_bytes);
    }
    auto planned = PlanStates(state_bytes, options.max_sequences, budget / 2);
    if (!planned) return Forward(planned);
    states = *planned;
    budget -= states.states * state_bytes;
  }
  const int64_t blocks = std::min({budget / block_bytes, useful, int64_t{std::numeric_limits<int32_t>::max() / 2}});
  if (blocks < 1) {
    return Fail(ErrorCode::kResourceExhausted, "{} bytes for KV do not hold one block of {} tokens, {} bytes", budget,
                options.block_size, block_bytes);
  }
  return KvBudget{.blocks = static_cast<int32_t>(blocks),
                  .context = static_cast<int32_t>(std::min<int64_t>(context, blocks * options.block_size)),
                  .states = states.states,
                  .sequences = states.sequences};
}

}  // namespace inferflux::engine
