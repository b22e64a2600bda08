// An engine with a toy language that the checks of parity can run on: real KV bookkeeping, real sampling, and logits
// that depend on every token before. Subclasses break it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/sampling/sampler.h"
#include "parity/oracle.h"
#include "parity/run_parity.h"
#include "scheduler/fake_engine.h"

namespace inferflux::parity {

// Noise below 1, and one letter 4 above it; after about one text in 16 the end token.
inline std::vector<float> ToyLogits(std::span<const TokenId> history) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const TokenId token : history) hash = (hash ^ static_cast<uint64_t>(token + 1)) * 0x100000001b3u;
  const uint64_t choice = (hash >> 32) % (16 * 26);
  std::vector<float> logits(300);
  for (float& logit : logits) {
    hash = hash * 6364136223846793005u + 1442695040888963407u;
    logit = static_cast<float>(hash >> 48) / 65536.0f;
  }
  logits[choice < 26 ? scheduler::kEnd : 'a' + choice % 26] += 4.0f;
  return logits;
}

class ToyEngine : public engine::Engine {
 public:
  using OutputSpec = engine::OutputSpec;
  using Kind = OutputSpec::Kind;

  ToyEngine()
      : kv_({.blocks = 256, .context = 512}, [](std::span<const TokenId>, const OutputSpec&) { return 0; }),
        info_(kv_.info()) {
    info_.capabilities.kv_save_restore = true;
  }

  const engine::EngineInfo& info() const override { return info_; }
  Result<engine::PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override {
    calls += fmt::format("open {} ", salt);
    return kv_.Open(tokens, salt);
  }
  Result<engine::SequenceId> Fork(engine::SequenceId id) override { return kv_.Fork(id); }
  Status Reserve(engine::SequenceId id, int32_t tokens) override { return kv_.Reserve(id, tokens); }
  Status Truncate(engine::SequenceId id, int32_t length) override {
    calls += fmt::format("cut {} ", length);
    return kv_.Truncate(id, length);
  }
  Status Close(engine::SequenceId id) override {
    calls += "close ";
    return kv_.Close(id);
  }
  Result<std::vector<std::byte>> Save(engine::SequenceId id) override { return kv_.Save(id); }
  Result<engine::SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt,
                                     std::span<const std::byte> saved) override {
    calls += fmt::format("restore {} ", tokens.size());
    return kv_.Restore(tokens, salt, saved);
  }
  Result<int32_t> Length(engine::SequenceId id) const override { return kv_.Length(id); }
  engine::KvUsage usage() const override { return kv_.usage(); }

  Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
    for (size_t i = 0; i < batch.items.size(); ++i) {
      calls += fmt::format("{}{}", i > 0 ? "+" : "", batch.items[i].tokens.size());
    }
    calls += ' ';
    last = batch;
    auto step = kv_.ExecuteUnifiedBatch(batch);
    if (!step) return step;
    for (size_t i = 0; i < batch.items.size(); ++i) {
      const auto& item = batch.items[i];
      const std::span<const TokenId> all = (*kv_.store().Find(item.sequence))->tokens;
      for (size_t k = 0; k < item.outputs.size(); ++k) {
        const OutputSpec& spec = item.outputs[k];
        const auto history = all.first(static_cast<size_t>(item.first_position + spec.token_index + 1));
        step->items[i][k] = OutputOf(history, spec);
        Change(history.size(), k, step->items[i][k]);
      }
    }
    return step;
  }

  std::string calls;  // what was opened and closed, the tokens of each item of each step, what was cut and restored
  engine::UnifiedBatch last;  // step

 protected:
  // An output after this many tokens, the item's k-th.
  virtual void Change(size_t /*length*/, size_t /*k*/, engine::OutputResult&) {}

  scheduler::FakeEngine kv_;
  engine::EngineInfo info_;

 private:
  engine::OutputResult OutputOf(std::span<const TokenId> history, const OutputSpec& spec) {
    auto logits = ToyLogits(history);
    if (spec.kind == Kind::kLogits) return {.logits = std::move(logits)};
    return sampler_.Sample(logits, spec.sampling,
                           {.history = history,
                            .prompt_tokens = spec.prompt_tokens,
                            .draw = spec.draw,
                            .mirostat_mu = spec.mirostat_mu,
                            .banned = spec.banned,
                            .mask = spec.mask.get(),
                            .top_logprobs = spec.top_logprobs});
  }

  engine::Sampler sampler_;
};

inline Bounds FloatBounds() { return BoundsFor("F32"); }

inline std::string Said(const Finding& finding) { return finding ? *finding : "error: " + finding.error().message; }

inline serving::ModelText ToyText() { return {.tokenizer = scheduler::FakeTokenizer(), .chat_template = nullptr}; }

inline const Oracle& ToyOracle() {
  static const Oracle oracle = [] {
    ToyEngine engine;
    return AskOracle(engine, ToyText()).value();
  }();
  return oracle;
}

}  // namespace inferflux::parity
