// Runs the steps of an engine: gives their work to the device, and takes the results once they are there. Between the
// two no sequence has changed. A step is one part, or its prompts and its decodes on a stream each (two_streams.h).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/device_features.h"
#include "engine/engine.h"
#include "engine/hidden_outputs.h"
#include "engine/kv_blocks/block_manager.h"
#include "engine/native/graphs/decode_graphs.h"
#include "engine/native/ranks/rank_leader.h"
#include "engine/native/sample_rows.h"
#include "engine/native/step_plan.h"
#include "engine/native/step_results.h"
#include "engine/native/step_states.h"
#include "engine/native/step_timer.h"
#include "engine/native/two_streams.h"
#include "engine/sampling/sampler.h"
#include "engine/step_outputs.h"
#include "model/model_runner.h"

namespace inferflux::engine {

template <compute::Backend B, class Kv>
class StepRunner {
 private:
  // What the host gets for the outputs that need logits, on its way.
  struct LateOutputs {
    std::optional<StepValues<B>> logits;                   // of those that `sampled` leaves out
    std::optional<typename StepTokensOf<B>::Type> tokens;  // of the device's choice,
    std::vector<int32_t> sampled;                          //   for these outputs,
    size_t outputs = 0;                                    //   of so many
  };
  // A step whose work was given to the device. No sequence has changed yet.
  struct StartedStep {
    OutputRows rows;
    StepStates states;
    StepTimer<B> timer;
    LateOutputs outputs;
    std::optional<StepValues<B>> hidden = {};
  };
  // The whole step, or one of two parts that run side by side.
  struct StepPart {
    std::optional<PartOfBatch> part;  // none: the whole
    StartedStep started;

    const UnifiedBatch& BatchOf(const UnifiedBatch& whole) const { return part ? part->batch : whole; }
  };

 public:
  // Parts of the engine, which outlive this.
  struct EngineParts {
    typename B::Context& context;
    model::ModelRunner<B, Kv>& runner;
    DecodeGraphs<B, Kv>& graphs;
    BlockManager& store;
    RankLeader& ranks;
    const EngineInfo& info;
  };
  struct Options {
    bool timed = false;        // fills StepResult::device_seconds
    bool two_streams = false;  // where the backend has them
  };
  using Parts = std::vector<StepPart>;

  StepRunner(const EngineParts& engine, const Options& options)
      : context_(engine.context),
        runner_(engine.runner),
        graphs_(engine.graphs),
        store_(engine.store),
        ranks_(engine.ranks),
        info_(engine.info),
        options_(options) {}

  // Gives the step's work to the device. Room for it was reserved.
  Result<Parts> Start(const UnifiedBatch& batch) {
    if constexpr (compute::TwoStreams<B>) {
      if (options_.two_streams && std::ranges::any_of(batch.items, IsDecodeItem) && !IsDecodeStep(batch)) {
        return StartSideBySide(batch);
      }
    }
    auto whole = StartPart(batch);
    if (!whole) return Forward(whole);
    Parts parts;
    parts.push_back({std::nullopt, std::move(*whole)});
    return parts;
  }

  // Waits for the results; then the sequences grow. On an error none has.
  Result<StepResult> Finish(const UnifiedBatch& batch, Parts& parts) {
    StepResult result;
    std::vector<FinishedPart> finished;
    for (StepPart& part : parts) {  // all of them, before a sequence changes
      auto outputs = Take(part.started.outputs);
      if (!outputs) return Forward(outputs);
      auto& hidden = part.started.hidden;
      finished.push_back({std::move(*outputs), hidden ? hidden->Finish(context_) : std::vector<float>()});
      const auto seconds = part.started.timer.Seconds();
      if (seconds) result.device_seconds = std::max(*seconds, result.device_seconds.value_or(0.0));
    }
    for (StepPart& part : parts) {
      if (auto committed = Commit(part.BatchOf(batch), part.started.states); !committed) return Forward(committed);
    }
    const auto tokens_of = [&](SequenceId id) { return std::span<const TokenId>((*store_.Find(id))->tokens); };
    result.items.resize(batch.items.size());
    for (size_t p = 0; p < parts.size(); ++p) {
      const UnifiedBatch& own = parts[p].BatchOf(batch);
      LogitOutputs& outputs = finished[p].outputs;
      StepResult made = MakeOutputs(tokens_of, own, outputs.logits, info_.vocab_size, sampler_, outputs.sampled);
      FillHidden(own, finished[p].hidden, info_.hidden, &made);
      for (size_t i = 0; i < made.items.size(); ++i) {
        result.items[parts[p].part ? parts[p].part->items[i] : i] = std::move(made.items[i]);
      }
    }
    return result;
  }

 private:
  // What the device gave for a part.
  struct FinishedPart {
    LogitOutputs outputs;
    std::vector<float> hidden;
  };

  Result<Parts> StartSideBySide(const UnifiedBatch& batch) requires compute::TwoStreams<B> {
    // What is wrong with an item is said with its number in the whole.
    if (auto valid = PlanStep(store_, batch, info_.vocab_size, info_.context); !valid) return Forward(valid);
    SideBySide<B> sides(context_);
    if (!sides.forked()) return Forward(sides.forked());
    Parts parts;
    PartOfBatch decodes = PartOf(batch, true), prompts = PartOf(batch, false);
    auto first = StartPart(decodes.batch);  // which is given out sooner, often as one graph
    if (!first) return Forward(first);
    parts.push_back({std::move(decodes), std::move(*first)});
    auto second = sides.Aside([&] { return StartPart(prompts.batch); });
    if (!second) return Forward(second);
    parts.push_back({std::move(prompts), std::move(*second)});
    return parts;
  }

  Result<StartedStep> StartPart(const UnifiedBatch& batch) {
    auto plan = PlanStep(store_, batch, info_.vocab_size, info_.context);
    if (!plan) return Forward(plan);
    if (!info_.capabilities.generation) {
      if (auto valid = CheckHiddenOnly(batch); !valid) return Forward(valid);
    }
    auto states = StepStates::Begin(store_, batch, plan->geometry);
    if (!states) return Forward(states);
    StartedStep step{.rows = SplitOutputs(batch),
                     .states = std::move(*states),
                     .timer = StepTimer<B>(context_, false),
                     .outputs = {}};
    if (ranks_.leads()) {
      if (auto told = Announce(*plan, step.rows); !told) return Forward(told);
    }
    step.timer = StepTimer<B>(context_, options_.timed);
    auto outputs = ReplayedOutputs(batch, plan->geometry, step.rows);
    if (!outputs) return Forward(outputs);
    if (*outputs) {
      step.outputs = std::move(**outputs);
    } else {
      const auto hidden = runner_.Step(plan->geometry, plan->output_rows, plan->token_types);
      auto computed = DeviceOutputs(batch, hidden, step.rows);
      if (!computed) return Forward(computed);
      step.outputs = std::move(*computed);
      if (!step.rows.hidden.empty()) {
        step.hidden = StepValues<B>::Begin(context_, runner_.GatherRows(hidden, step.rows.hidden));
      }
    }
    step.timer.Stop();
    return step;
  }

  Status Commit(const UnifiedBatch& batch, StepStates& states) {
    if (!info_.causal) return {};  // the room was for this step only; no KV is kept
    for (size_t i = 0; i < batch.items.size(); ++i) {
      const BatchItem& item = batch.items[i];
      if (auto committed = store_.Commit(item.sequence, item.tokens, states.Take(i)); !committed) return committed;
    }
    return {};
  }

  Result<LogitOutputs> Take(LateOutputs& late) {
    LogitOutputs out;
    if constexpr (compute::DeviceSampling<B>) {
      out.sampled.resize(late.outputs);
      if (late.tokens) {
        auto tokens = late.tokens->Finish(context_);
        if (!tokens) return Forward(tokens);
        for (size_t i = 0; i < late.sampled.size(); ++i) {
          out.sampled[static_cast<size_t>(late.sampled[i])] = std::move((*tokens)[i]);
        }
      }
    }
    if (late.logits) out.logits = late.logits->Finish(context_);
    return out;
  }

  Status Announce(const StepPlan& plan, const OutputRows& rows) {
    return ranks_.Announce({.kind = RankStep::Kind::kForward,
                            .geometry = plan.geometry,
                            .output_rows = plan.output_rows,
                            .token_types = plan.token_types,
                            .logits = !rows.logits.empty(),
                            .logit_rows = rows.hidden.empty() ? std::vector<int32_t>() : rows.logits});
  }

  // The outputs of a step that is a captured one; nothing if it is none.
  Result<std::optional<LateOutputs>> ReplayedOutputs(const UnifiedBatch& batch, const compute::StepGeometry& geometry,
                                                     const OutputRows& rows) {
    if (!graphs_.on() || !IsDecodeStep(batch)) return std::nullopt;
    const auto logits = graphs_.Logits(geometry);
    if (!logits) return std::nullopt;
    auto outputs = ChosenOf(batch, *logits, rows);
    if (!outputs) return Forward(outputs);
    return std::optional(std::move(*outputs));
  }

  Result<LateOutputs> DeviceOutputs(const UnifiedBatch& batch, compute::View<B> hidden, const OutputRows& rows) {
    if (rows.logits.empty()) return LateOutputs{};
    const auto logits = runner_.Logits(rows.hidden.empty() ? hidden : runner_.GatherRows(hidden, rows.logits));
    return ChosenOf(batch, logits, rows);
  }

  // What the host gets from the device: tokens that are sampled there, and the logits of all other outputs. The first
  // rows of `logits` are those of the outputs that need logits.
  Result<LateOutputs> ChosenOf(const UnifiedBatch& batch, compute::View<B> logits, const OutputRows& rows) {
    LateOutputs out{.logits = {}, .tokens = {}, .sampled = {}, .outputs = rows.logits.size()};
    if constexpr (compute::DeviceSampling<B>) {
      const auto tokens_of = [&](SequenceId id) { return std::span<const TokenId>((*store_.Find(id))->tokens); };
      DeviceRows split = SplitSampling(tokens_of, batch, &B::CanSample);
      if (!split.sampled.empty()) {
        auto tokens = StepTokens<B>::Begin(context_, runner_.GatherRows(logits, split.sampled), split.rows);
        if (!tokens) return Forward(tokens);
        out.tokens = std::move(*tokens);
        out.sampled = std::move(split.sampled);
      }
      if (!split.read.empty()) {
        out.logits = StepValues<B>::Begin(context_, runner_.GatherRows(logits, split.read));
      }
    } else {
      static_assert(!compute::GraphCapture<B>, "a captured step has more rows than its outputs");
      out.logits = StepValues<B>::Begin(context_, logits);
    }
    return out;
  }

  typename B::Context& context_;
  model::ModelRunner<B, Kv>& runner_;
  DecodeGraphs<B, Kv>& graphs_;
  BlockManager& store_;
  RankLeader& ranks_;
  const EngineInfo& info_;
  const Options options_;
  Sampler sampler_;
};

}  // namespace inferflux::engine
