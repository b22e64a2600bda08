// Loads a rank's part of a model. All ranks do it at the same time, and all or none succeed.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "collective/message.h"
#include "compute/device_features.h"
#include "compute/rank_collectives.h"
#include "engine/native/engine_options.h"
#include "engine/native/kv_budget.h"
#include "model/model_runner.h"
#include "model/shard.h"

namespace inferflux::engine {

// The KV of all ranks is that of the rank with the least. kInvalidArgument if their models differ.
Result<KvBudget> AgreeOnBudget(collective::Collective& ranks, const Result<KvBudget>& own, uint64_t model);
// A number that tells models and their configurations apart.
uint64_t ModelNumber(const model::ModelConfig& config, const model::ModelSource& source);

// Connects the ranks of a model, which all do it; the first of them that cannot is an error for all. Returns what they
// exchange through. Before the KV is planned, because devices hold memory for it.
template <compute::Backend B>
Result<std::string> JoinRanks(typename B::Context& context, const EngineOptions& options) {
  collective::Collective& ranks = *options.ranks;
  if (auto all = Agree(ranks, {}); !all) return Forward(all);  // some cannot even open the model
  if constexpr (compute::RankCollectives<B>) context.ranks = &ranks;
  if constexpr (compute::DeviceCollectives<B>) {
    auto joined = B::JoinRanks(context, options.ranks, options.collectives);
    if (auto all = Agree(ranks, joined.map([](const auto&) {})); !all) return Forward(all);
    return joined;
  } else {
    return ranks.name();
  }
}

template <compute::Backend B, class Kv>
struct LoadedShard {
  model::ModelRunner<B, Kv> runner;
  KvBudget budget;
  // Steps may be captured: the KV has one block more than the budget, for the lines that fill up a captured step.
  bool graphs = false;
  std::string transport = {};  // what the ranks exchange through, for messages
};

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> Result<LoadedShard<B, Kv>> LoadShard(typename B::Context& context,
                                                                      model::ModelConfig config,
                                                                      std::shared_ptr<const model::ModelSource> source,
                                                                      const EngineOptions& options) {
  collective::Collective* ranks = options.ranks.get();
  const bool shared = ranks != nullptr && ranks->size() > 1;
  const uint64_t number = shared ? ModelNumber(config, *source) : 0;
  std::string transport;
  if (shared) {
    auto joined = JoinRanks<B>(context, options);
    if (!joined) return Forward(joined);
    transport = std::move(*joined);
  }
  auto sharded = model::ShardConfig(std::move(config), *source, options.parallelism, shared ? ranks->rank() : 0);
  Result<KvBudget> budget = sharded ? PlanKv(sharded->config, compute::KvTokenBytes<Kv>(KvLayers(sharded->config)),
                                             options, B::Memory(context).free / options.parallelism.ranks())
                                    : Result<KvBudget>(Forward(sharded));
  if (shared) budget = AgreeOnBudget(*ranks, budget, number);
  if (!budget) return Forward(budget);
  const bool graphs = compute::GraphCapture<B> && options.graphs && !shared && sharded->config.causal;
  auto runner = model::ModelRunner<B, Kv>::Load(context, std::move(sharded->config), std::move(source),
                                                budget->blocks + (graphs ? 1 : 0), options.block_size, options.stop,
                                                budget->states, sharded->shard);
  if (shared) {
    const Status own = runner.map([](const auto&) {});
    if (auto all = Agree(*ranks, own); !all) return Forward(all);
  }
  if (!runner) return Forward(runner);
  return LoadedShard<B, Kv>{std::move(*runner), *budget, graphs, std::move(transport)};
}

}  // namespace inferflux::engine
