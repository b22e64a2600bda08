#include "engine/native/ranks/load_shard.h"

#include <algorithm>
#include <vector>

#include "base/mix64.h"

namespace inferflux::engine {

Result<KvBudget> AgreeOnBudget(collective::Collective& ranks, const Result<KvBudget>& own, uint64_t model) {
  if (auto all = Agree(ranks, own.map([](const KvBudget&) {})); !all) return Forward(all);
  struct Plan {
    KvBudget budget;
    uint64_t model = 0;
  };
  const Plan plan{.budget = *own, .model = model};
  std::vector<Plan> plans(static_cast<size_t>(ranks.size()));
  if (auto done = ranks.AllGather(std::as_bytes(std::span(&plan, 1)), std::as_writable_bytes(std::span(plans)));
      !done) {
    return Forward(done);
  }
  KvBudget least = *own;
  for (size_t rank = 0; rank < plans.size(); ++rank) {
    if (plans[rank].model != plans.front().model) {
      return Fail(ErrorCode::kInvalidArgument,
                  "rank {} has another model than rank 0: its file differs, or its version of InferFlux", rank);
    }
    const KvBudget& budget = plans[rank].budget;
    least = {.blocks = std::min(least.blocks, budget.blocks),
             .context = std::min(least.context, budget.context),
             .states = std::min(least.states, budget.states),
             .sequences = std::min(least.sequences, budget.sequences)};
  }
  return least;
}

uint64_t ModelNumber(const model::ModelConfig& config, const model::ModelSource& source) {
  uint64_t number = 0;
  const auto add = [&](int64_t value) { number = Mix64(number ^ static_cast<uint64_t>(value)); };
  for (const char c : config.architecture) add(c);
  for (const int64_t size : {config.vocab_size, config.hidden, config.layers, config.heads, config.feed_forward}) {
    add(size);
  }
  for (const auto* tensor : source.Tensors()) {
    for (const char c : tensor->matrix.name) add(c);
    add(static_cast<int64_t>(tensor->matrix.type));
    add(tensor->matrix.rows);
    add(tensor->matrix.cols);
  }
  return number;
}

}  // namespace inferflux::engine
