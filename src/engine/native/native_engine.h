// Our own engine: a ModelRunner, a BlockManager that assigns KV blocks to sequences, and what runs steps
// (step_runner.h). A template over the compute backend and the KV type; code that depends on neither is in step_plan,
// sample_rows, step_outputs and kv_blocks/.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/without_exceptions.h"
#include "compute/capabilities.h"
#include "compute/device_features.h"
#include "engine/engine.h"
#include "engine/kv_blocks/block_manager.h"
#include "engine/native/engine_options.h"
#include "engine/native/graphs/decode_graphs.h"
#include "engine/native/kv_budget.h"
#include "engine/native/kv_bytes.h"
#include "engine/native/ranks/load_shard.h"
#include "engine/native/ranks/rank_leader.h"
#include "engine/native/state_bytes.h"
#include "engine/native/step_runner.h"
#include "model/model_runner.h"

namespace inferflux::engine {

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv>
class NativeEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> Create(std::unique_ptr<typename B::Context> context, model::ModelConfig config,
                                                std::shared_ptr<const model::ModelSource> source,
                                                const EngineOptions& options) {
    auto loaded = LoadShard<B, Kv>(*context, std::move(config), std::move(source), options);
    if (!loaded) return Forward(loaded);
    return std::unique_ptr<Engine>(new NativeEngine(std::move(context), std::move(*loaded), options));
  }

  const EngineInfo& info() const override { return info_; }

  Result<PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
    return store_.Open(info_.causal ? tokens : std::span<const TokenId>(), salt);
  }
  Result<SequenceId> Fork(SequenceId sequence) override {
    if (auto free = CheckFree(sequence); !free) return Forward(free);
    return store_.Fork(sequence);
  }
  Status Truncate(SequenceId sequence, int32_t length) override {
    if (auto free = CheckFree(sequence); !free) return free;
    return store_.Truncate(sequence, length);
  }
  Status Close(SequenceId sequence) override {
    if (auto free = CheckFree(sequence); !free) return free;
    return store_.Close(sequence);
  }
  KvUsage usage() const override { return store_.usage(); }
  GraphUsage graphs() const override { return graphs_.usage(); }
  bool PrepareAhead() override { return !under_way_ && graphs_.CaptureAhead(info_.block_size); }

  Status Reserve(SequenceId sequence, int32_t tokens) override {
    if (auto free = CheckFree(sequence); !free) return free;
    return ranks_.Guard([&] { return WithoutExceptions(B::kName, [&] { return MakeRoom(sequence, tokens); }); });
  }

  Result<StepResult> ExecuteUnifiedBatch(const UnifiedBatch& batch) override {
    if (under_way_) return StepUnderWay();
    return ranks_.Guard([&] {
      return WithoutExceptions(B::kName, [&]() -> Result<StepResult> {
        auto started = steps_.Start(batch);
        if (!started) return Forward(started);
        return steps_.Finish(batch, *started);
      });
    });
  }

  Status Submit(UnifiedBatch batch) override {
    if constexpr (!compute::LateResults<B>) {
      return Engine::Submit(std::move(batch));
    } else {
      if (under_way_) return StepUnderWay();
      auto step = std::make_unique<StepOnDevice>(StepOnDevice{std::move(batch), std::nullopt});
      step->started.emplace(
          ranks_.Guard([&] { return WithoutExceptions(B::kName, [&] { return steps_.Start(step->batch); }); }));
      under_way_ = std::move(step);
      return {};
    }
  }
  Result<StepResult> Collect() override {
    if constexpr (!compute::LateResults<B>) {
      return Engine::Collect();
    } else {
      if (!under_way_) return Fail(ErrorCode::kInvalidArgument, "no step was submitted");
      const auto step = std::exchange(under_way_, nullptr);
      if (!*step->started) return Forward(*step->started);
      return ranks_.GuardEnd(
          [&] { return WithoutExceptions(B::kName, [&] { return steps_.Finish(step->batch, **step->started); }); });
    }
  }

  Result<std::vector<float>> ApplyHead(std::span<const float> pooled) override {
    if (info_.head_outputs == 0) return Engine::ApplyHead(pooled);
    if (std::ssize(pooled) != info_.hidden) {
      return Fail(ErrorCode::kInvalidArgument, "a pooled state of {} values; this model's have {}", pooled.size(),
                  info_.hidden);
    }
    return WithoutExceptions(B::kName, [&]() -> Result<std::vector<float>> { return runner_.ApplyHead(pooled); });
  }

  Result<int32_t> Length(SequenceId sequence) const override {
    return store_.Find(sequence).map([](const Sequence* found) { return found->length(); });
  }

  Result<std::vector<std::byte>> Save(SequenceId sequence) override {
    const auto found = store_.Find(sequence);
    if (!found) return Forward(found);
    if (auto free = CheckFree(sequence); !free) return Forward(free);
    if (ranks_.leads()) return Engine::Save(sequence);  // this rank has some of the heads, or of the layers
    if constexpr (compute::AddressableKv<B, Kv>) {
      return WithoutExceptions(B::kName, [&]() -> Result<std::vector<std::byte>> {
        auto saved = SaveBlocks<B, Kv>(runner_.cache(), WholeBlocks(**found));
        if constexpr (compute::RecurrentStates<B>) {
          if (store_.recurrent()) AppendState<B>(runner_.states(), **found, saved);
        }
        return saved;
      });
    } else {
      return Engine::Save(sequence);
    }
  }

  Result<SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt,
                             std::span<const std::byte> saved) override {
    if (ranks_.leads()) return Engine::Restore(tokens, salt, saved);
    if constexpr (compute::AddressableKv<B, Kv>) {
      auto opened = store_.Open({}, salt);
      if (!opened) return Forward(opened);
      const SequenceId sequence = opened->sequence;
      StepState state;
      if constexpr (compute::RecurrentStates<B>) {
        if (store_.recurrent()) {
          auto taken = RestoreState(sequence, tokens, saved);
          if (!taken) {
            if (auto closed = store_.Close(sequence); !closed) return Forward(closed);
            return Forward(taken);
          }
          state = *taken;
        }
      }
      Status restored = store_.Reserve(sequence, static_cast<int32_t>(tokens.size())).map([](const auto&) {});
      if (restored) {
        restored = WithoutExceptions(B::kName, [&]() -> Status {
          return LoadBlocks<B, Kv>(runner_.cache(), (*store_.Find(sequence))->blocks, saved);
        });
      }
      if (restored) restored = store_.Commit(sequence, tokens, state);
      if (restored) return sequence;
      store_.AbandonStep(state);
      if (auto closed = store_.Close(sequence); !closed) return Forward(closed);
      return Forward(restored);
    } else {
      return Engine::Restore(tokens, salt, saved);
    }
  }

 private:
  // Cuts the state off the end of `saved`, and loads it into a slot.
  Result<StepState> RestoreState(SequenceId sequence, std::span<const TokenId> tokens,
                                 std::span<const std::byte>& saved) requires compute::RecurrentStates<B> {
    const auto state = SplitState(saved, compute::StateBytes(StateLayers(runner_.config())));
    if (!state) return Forward(state);
    if (state->tokens != std::ssize(tokens)) {
      return Fail(ErrorCode::kUnsupported, "the saved recurrent state is that after {} tokens, not after {}",
                  state->tokens, tokens.size());
    }
    auto taken = store_.BeginStep(sequence, static_cast<int32_t>(tokens.size()));
    if (!taken) return taken;
    std::span<const std::byte> bytes = state->bytes;
    B::VisitState(runner_.states(), taken->to, [&](std::span<std::byte> part) {
      std::memcpy(part.data(), bytes.data(), part.size());
      bytes = bytes.subspan(part.size());
    });
    if (taken->mark != Sequence::kNoState) {  // the saved bytes have the last state only
      store_.AbandonStep({.mark = taken->mark});
      taken->mark = Sequence::kNoState;
    }
    return taken;
  }

  Status MakeRoom(SequenceId sequence, int32_t tokens) {
    auto copy = store_.Reserve(sequence, tokens);
    if (!copy) return Forward(copy);
    if (!*copy) return {};
    if (ranks_.leads()) {
      if (auto told = ranks_.Announce({.kind = RankStep::Kind::kCopyBlock, .copy = **copy}); !told) return told;
    }
    runner_.CopyBlock((*copy)->from, (*copy)->to);
    return {};
  }

  struct StepOnDevice {
    UnifiedBatch batch;
    std::optional<Result<typename StepRunner<B, Kv>::Parts>> started;  // an error: Collect's
  };

  static tl::unexpected<Error> StepUnderWay() {
    return Fail(ErrorCode::kInvalidArgument, "a step is under way; collect it before the next");
  }
  Status CheckFree(SequenceId sequence) const {
    if (!under_way_) return {};
    for (const BatchItem& item : under_way_->batch.items) {
      if (item.sequence != sequence) continue;
      return Fail(ErrorCode::kInvalidArgument, "a sequence of the step that is under way; collect the step first");
    }
    return {};
  }

  // The blocks that hold a token; room that is only reserved is left out.
  std::span<const int32_t> WholeBlocks(const Sequence& sequence) const {
    const auto size = static_cast<size_t>(store_.block_size());
    return std::span(sequence.blocks).first((sequence.tokens.size() + size - 1) / size);
  }

  NativeEngine(std::unique_ptr<typename B::Context> context, LoadedShard<B, Kv> loaded, const EngineOptions& options)
      : NativeEngine(std::move(context), std::move(loaded.runner), loaded.budget, loaded.graphs, loaded.transport,
                     options) {}

  NativeEngine(std::unique_ptr<typename B::Context> context, model::ModelRunner<B, Kv> runner, const KvBudget& budget,
               bool graphs, const std::string& transport, const EngineOptions& options)
      : context_(std::move(context)),
        runner_(std::move(runner)),
        graphs_(*context_, runner_, graphs ? std::optional(LimitsOf(runner_.config(), budget)) : std::nullopt),
        store_(budget.blocks, options.block_size, budget.sequences, budget.states),
        ranks_(options.ranks, options.on_lost_rank),
        steps_({*context_, runner_, graphs_, store_, ranks_, info_},
               {.timed = options.time_steps,
                .two_streams = options.streams > 1 && runner_.config().causal &&
                               (options.ranks == nullptr || options.ranks->size() == 1)}) {
    info_ = {.backend = B::kName,
             .provider = "native",
             .kv_dtype = Kv::kName,
             .vocab_size = runner_.config().vocab_size,
             .context = budget.context,
             .block_size = options.block_size,
             .kv_tokens = int64_t{budget.blocks} * options.block_size,
             .max_sequences = budget.sequences,
             .step_tokens = compute::StepTokens<B>(),
             .capabilities = compute::DeriveCapabilities(compute::EngineTraitsOf<B, Kv>(),
                                                         {.causal = runner_.config().causal,
                                                          .pooled = runner_.config().pooling.type.has_value(),
                                                          .scores = runner_.config().pooling.scores(),
                                                          .recurrent = IsRecurrent(runner_.config())}),
             .causal = runner_.config().causal,
             .hidden = runner_.config().hidden,
             .pooling = runner_.config().pooling,
             .head_outputs = runner_.config().head.empty() ? 0 : runner_.config().head.back().outputs,
             .memory = {{B::kName, B::Memory(*context_).weight_bytes, KvBytes(budget, options)}},
             .plan = runner_.Plan()};
    info_.capabilities.graph_capture = graphs_.on();
    info_.async_steps = compute::LateResults<B>;
    if constexpr (compute::LoadNotes<B>) info_.notes = B::LoadNotes(*context_);
    if (ranks_.leads()) {
      info_.capabilities.kv_save_restore = false;
      info_.notes.push_back(fmt::format("{} parallelism over {} ranks through {}, of which this is rank 0",
                                        options.parallelism.tensor > 1 ? "tensor" : "pipeline", options.ranks->size(),
                                        transport));
    }
  }

  static GraphLimits LimitsOf(const model::ModelConfig& config, const KvBudget& budget) {
    return {.sequences = budget.sequences,
            .context = budget.context,
            .spare_block = budget.blocks,
            .pads = config.moe.experts == 0 && !IsRecurrent(config),
            .ahead = !IsRecurrent(config)};
  }

  int64_t KvBytes(const KvBudget& budget, const EngineOptions& options) const {
    return int64_t{budget.blocks} * options.block_size * compute::KvTokenBytes<Kv>(KvLayers(runner_.config())) +
           int64_t{budget.states} * compute::StateBytes(StateLayers(runner_.config()));
  }

  std::unique_ptr<typename B::Context> context_;  // outlives the runner
  model::ModelRunner<B, Kv> runner_;
  DecodeGraphs<B, Kv> graphs_;
  BlockManager store_;
  RankLeader ranks_;
  EngineInfo info_;
  StepRunner<B, Kv> steps_;
  std::unique_ptr<StepOnDevice> under_way_;  // what is left of it ends before the rest
};

// Calls `use` with the KV type that the options name, and returns its result. An encoder's temporary KV is float32: it
// exists only while a layer is computed, and is small.
template <compute::Backend B, class R, class F>
R WithKvType(const model::ModelConfig& config, const EngineOptions& options, F use) {
  std::optional<R> result;
  std::string known;
  const std::string kv_dtype = config.causal ? options.kv_dtype : compute::KvFp32::kName;
  compute::ForEachKvType([&]<class Kv>(Kv kv) {
    if constexpr (compute::PagedKv<B, Kv>) {
      known += (known.empty() ? "" : ", ") + std::string(Kv::kName);
      if (kv_dtype == Kv::kName) result = use(kv);
    }
  });
  if (result) return std::move(*result);
  return Fail(ErrorCode::kInvalidArgument, "no KV type '{}' on backend {}: it has {}", options.kv_dtype, B::kName,
              known);
}

// Creates the engine of a compute backend.
template <compute::Backend B>
Result<std::unique_ptr<Engine>> CreateNativeEngine(std::unique_ptr<typename B::Context> context,
                                                   model::ModelConfig config,
                                                   std::shared_ptr<const model::ModelSource> source,
                                                   const EngineOptions& options) {
  return WithKvType<B, Result<std::unique_ptr<Engine>>>(config, options, [&]<class Kv>(Kv) {
    return NativeEngine<B, Kv>::Create(std::move(context), std::move(config), std::move(source), options);
  });
}

}  // namespace inferflux::engine
