// The other ranks' side of a shared model: no sequences and no sampling, only the steps that rank 0 announces.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/without_exceptions.h"
#include "engine/native/ranks/load_shard.h"
#include "engine/native/ranks/rank_step.h"

namespace inferflux::engine {

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> Status RunStep(model::ModelRunner<B, Kv>& runner, const RankStep& step) {
  if (step.kind == RankStep::Kind::kCopyBlock) {
    runner.CopyBlock(step.copy.from, step.copy.to);
    return {};
  }
  const auto hidden = runner.Step(step.geometry, step.output_rows, step.token_types);
  // The later ranks of a pipeline have no output: rank 0 has it.
  if (!step.logits || !runner.has_output()) return {};
  if (step.logit_rows.empty()) {
    runner.Logits(hidden);
  } else {
    runner.Logits(runner.GatherRows(hidden, step.logit_rows));
  }
  return {};
}

// Loads this rank's part and runs steps until rank 0 ends the model. An error, which the other ranks get too, says why
// it ended otherwise.
template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> Status Follow(typename B::Context& context, model::ModelConfig config,
                                               std::shared_ptr<const model::ModelSource> source,
                                               const EngineOptions& options) {
  auto loaded = LoadShard<B, Kv>(context, std::move(config), std::move(source), options);
  if (!loaded) return Forward(loaded);
  collective::Collective& ranks = *options.ranks;
  while (true) {
    const auto step = ReceiveStep(ranks);
    if (!step) return Forward(step);
    if (step->kind == RankStep::Kind::kEnd) return {};
    const Status done = WithoutExceptions(B::kName, [&] { return RunStep(loaded->runner, *step); });
    if (done) continue;
    ranks.Abort({done.error().code, fmt::format("rank {}: {}", ranks.rank(), done.error().message)});
    return done;
  }
}

}  // namespace inferflux::engine
