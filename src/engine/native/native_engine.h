// Our own engine: a ModelRunner, a BlockManager that says where its KV lies, and a sampler. A template over the compute
// backend and the KV type; everything that does not depend on them is in step_plan, step_outputs and kv_store.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/without_exceptions.h"
#include "engine/engine.h"
#include "engine/hidden_outputs.h"
#include "engine/kv_blocks/block_manager.h"
#include "engine/native/engine_options.h"
#include "engine/native/kv_budget.h"
#include "engine/native/kv_bytes.h"
#include "engine/native/step_plan.h"
#include "engine/sampling/sampler.h"
#include "engine/step_outputs.h"
#include "model/model_runner.h"

namespace inferflux::engine {

template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv>
class NativeEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> Create(std::unique_ptr<typename B::Context> context, model::ModelConfig config,
                                                std::shared_ptr<const model::ModelSource> source,
                                                const EngineOptions& options) {
    const auto budget = PlanKv(config, compute::KvTokenBytes<Kv>(KvLayers(config)), options, AvailableMemory());
    if (!budget) return Forward(budget);
    auto runner = model::ModelRunner<B, Kv>::Load(*context, std::move(config), std::move(source), budget->blocks,
                                                  options.block_size, options.stop);
    if (!runner) return Forward(runner);
    return std::unique_ptr<Engine>(new NativeEngine(std::move(context), std::move(*runner), *budget, options));
  }

  const EngineInfo& info() const override { return info_; }

  Result<PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
    return store_.Open(info_.causal ? tokens : std::span<const TokenId>(), salt);
  }
  Result<SequenceId> Fork(SequenceId sequence) override { return store_.Fork(sequence); }
  Status Truncate(SequenceId sequence, int32_t length) override { return store_.Truncate(sequence, length); }
  Status Close(SequenceId sequence) override { return store_.Close(sequence); }
  KvUsage usage() const override { return store_.usage(); }

  Status Reserve(SequenceId sequence, int32_t tokens) override {
    return WithoutExceptions(B::kName, [&] { return MakeRoom(sequence, tokens); });
  }

  Result<StepResult> ExecuteUnifiedBatch(const UnifiedBatch& batch) override {
    return WithoutExceptions(B::kName, [&] { return Execute(batch); });
  }

  Result<int32_t> Length(SequenceId sequence) const override {
    return store_.Find(sequence).map([](const Sequence* found) { return found->length(); });
  }

  Result<std::vector<std::byte>> Save(SequenceId sequence) override {
    const auto found = store_.Find(sequence);
    if (!found) return Forward(found);
    if constexpr (compute::AddressableKv<B, Kv>) {
      return WithoutExceptions(B::kName, [&]() -> Result<std::vector<std::byte>> {
        return SaveBlocks<B, Kv>(runner_.cache(), WholeBlocks(**found));
      });
    } else {
      return Engine::Save(sequence);
    }
  }

  Result<SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt,
                             std::span<const std::byte> saved) override {
    if constexpr (compute::AddressableKv<B, Kv>) {
      auto opened = store_.Open({}, salt);
      if (!opened) return Forward(opened);
      const SequenceId sequence = opened->sequence;
      Status restored = store_.Reserve(sequence, static_cast<int32_t>(tokens.size())).map([](const auto&) {});
      if (restored) {
        restored = WithoutExceptions(B::kName, [&]() -> Status {
          return LoadBlocks<B, Kv>(runner_.cache(), (*store_.Find(sequence))->blocks, saved);
        });
      }
      if (restored) restored = store_.Commit(sequence, tokens);
      if (restored) return sequence;
      if (auto closed = store_.Close(sequence); !closed) return Forward(closed);
      return Forward(restored);
    } else {
      return Engine::Restore(tokens, salt, saved);
    }
  }

 private:
  Status MakeRoom(SequenceId sequence, int32_t tokens) {
    auto copy = store_.Reserve(sequence, tokens);
    if (!copy) return Forward(copy);
    if (*copy) runner_.CopyBlock((*copy)->from, (*copy)->to);
    return {};
  }

  Result<StepResult> Execute(const UnifiedBatch& batch) {
    auto plan = PlanStep(store_, batch, info_.vocab_size, info_.context);
    if (!plan) return Forward(plan);
    if (!info_.causal) {
      if (auto valid = CheckHiddenOnly(batch); !valid) return Forward(valid);
    }
    const auto hidden = runner_.Step(plan->geometry, plan->output_rows);
    const OutputRows rows = SplitOutputs(batch);
    auto logits = ReadLogits(hidden, rows);
    for (const auto& item : batch.items) {
      if (!info_.causal) break;  // room was lent for the step; nothing stays
      if (auto committed = store_.Commit(item.sequence, item.tokens); !committed) return Forward(committed);
    }
    const auto tokens_of = [&](SequenceId id) { return std::span<const TokenId>((*store_.Find(id))->tokens); };
    StepResult result = MakeOutputs(tokens_of, batch, logits, info_.vocab_size, sampler_);
    if (!rows.hidden.empty()) {
      FillHidden(batch, runner_.Read(runner_.GatherRows(hidden, rows.hidden)), info_.hidden, &result);
    }
    return result;
  }

  std::vector<float> ReadLogits(compute::View<B> hidden, const OutputRows& rows) {
    if (rows.logits.empty()) return {};
    if (rows.hidden.empty()) return runner_.Read(runner_.Logits(hidden));
    return runner_.Read(runner_.Logits(runner_.GatherRows(hidden, rows.logits)));
  }

  // Those that hold a token: room that was only reserved is left out.
  std::span<const int32_t> WholeBlocks(const Sequence& sequence) const {
    const auto size = static_cast<size_t>(store_.block_size());
    return std::span(sequence.blocks).first((sequence.tokens.size() + size - 1) / size);
  }

  NativeEngine(std::unique_ptr<typename B::Context> context, model::ModelRunner<B, Kv> runner, const KvBudget& budget,
               const EngineOptions& options)
      : context_(std::move(context)),
        runner_(std::move(runner)),
        store_(budget.blocks, options.block_size, options.max_sequences) {
    info_ = {.backend = B::kName,
             .provider = "native",
             .kv_dtype = Kv::kName,
             .vocab_size = runner_.config().vocab_size,
             .context = budget.context,
             .block_size = options.block_size,
             .kv_tokens = int64_t{budget.blocks} * options.block_size,
             .max_sequences = options.max_sequences,
             .step_tokens = compute::StepTokens<B>(),
             .batch_invariant = compute::BatchInvariant<B>,
             .saves_kv = compute::AddressableKv<B, Kv> && runner_.config().causal,
             .token_masks = true,
             .causal = runner_.config().causal,
             .hidden = runner_.config().hidden,
             .pooling = runner_.config().pooling,
             .memory = {{B::kName, context_->weight_bytes, KvBytes(budget, options)}},
             .plan = runner_.Plan()};
    if constexpr (compute::LoadNotes<B>) info_.notes = B::LoadNotes(*context_);
  }

  int64_t KvBytes(const KvBudget& budget, const EngineOptions& options) const {
    return int64_t{budget.blocks} * options.block_size * compute::KvTokenBytes<Kv>(KvLayers(runner_.config()));
  }

  std::unique_ptr<typename B::Context> context_;  // outlives the runner
  model::ModelRunner<B, Kv> runner_;
  BlockManager store_;
  Sampler sampler_;
  EngineInfo info_;
};

// The engine of a compute backend with the KV type that the options name. What an encoder keeps of a sequence while a
// layer is computed is float32: it is no memory to speak of.
template <compute::Backend B>
Result<std::unique_ptr<Engine>> CreateNativeEngine(std::unique_ptr<typename B::Context> context,
                                                   model::ModelConfig config,
                                                   std::shared_ptr<const model::ModelSource> source,
                                                   const EngineOptions& options) {
  std::optional<Result<std::unique_ptr<Engine>>> engine;
  std::string known;
  const std::string kv_dtype = config.causal ? options.kv_dtype : compute::KvFp32::kName;
  compute::ForEachKvType([&]<class Kv>(Kv) {
    if constexpr (compute::PagedKv<B, Kv>) {
      known += (known.empty() ? "" : ", ") + std::string(Kv::kName);
      if (kv_dtype == Kv::kName) {
        engine = NativeEngine<B, Kv>::Create(std::move(context), std::move(config), std::move(source), options);
      }
    }
  });
  if (engine) return std::move(*engine);
  return Fail(ErrorCode::kInvalidArgument, "no KV type '{}' on backend {}: it has {}", options.kv_dtype, B::kName,
              known);
}

}  // namespace inferflux::engine
