// An engine without a model: real KV bookkeeping, a toy language, and faults on demand. A sequence's next token depends
// on all tokens before it, so a lost or foreign token changes the text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/kv_blocks/block_manager.h"
#include "engine/native/step_plan.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::scheduler {

struct FakeEngineOptions {
  int32_t blocks = 64;
  int32_t block_size = 4;
  int32_t max_sequences = 16;
  int32_t context = 128;
  int32_t vocab_size = 300;
  int32_t step_tokens = 512;
  bool async_steps = false;
};

class FakeEngine final : public engine::Engine {
 public:
  using History = std::span<const TokenId>;
  // The next token, given the sequence's tokens and the requested output.
  using Model = std::function<TokenId(History, const engine::OutputSpec&)>;

  FakeEngine(const FakeEngineOptions& options, Model model)
      : options_(options), model_(std::move(model)), store_(options.blocks, options.block_size, options.max_sequences) {
    info_ = {.backend = "fake",
             .provider = "native",
             .kv_dtype = "none",
             .vocab_size = options.vocab_size,
             .context = options.context,
             .block_size = options.block_size,
             .kv_tokens = int64_t{options.blocks} * options.block_size,
             .max_sequences = options.max_sequences,
             .capabilities = compute::DeriveCapabilities(
                 {.paged_kv = true, .truncatable_kv = true, .host_logits = true, .batch_invariant = true}, {})};
    info_.step_tokens = options.step_tokens;
    info_.async_steps = options.async_steps;
  }

  const engine::EngineInfo& info() const override { return info_; }
  Result<engine::PrefixMatch> Open(History tokens, uint64_t salt) override {
    Tell("open");
    return store_.Open(tokens, salt);
  }
  Result<engine::SequenceId> Fork(engine::SequenceId id) override {
    CountMisuse(id);
    return store_.Fork(id);
  }
  Status Truncate(engine::SequenceId id, int32_t length) override {
    CountMisuse(id);
    return store_.Truncate(id, length);
  }
  Status Close(engine::SequenceId id) override {
    CountMisuse(id);
    return store_.Close(id);
  }
  engine::KvUsage usage() const override { return store_.usage(); }
  engine::GraphUsage graphs() const override { return graph_usage; }
  bool PrepareAhead() override { return prepare_ahead && prepare_ahead(); }
  Status Reserve(engine::SequenceId id, int32_t tokens) override {
    CountMisuse(id);
    return store_.Reserve(id, tokens).map([](const auto&) {});
  }
  Result<int32_t> Length(engine::SequenceId id) const override {
    return store_.Find(id).map([](const engine::Sequence* found) { return found->length(); });
  }

  // The "KV" of a token is the token itself.
  Result<std::vector<std::byte>> Save(engine::SequenceId id) override {
    CountMisuse(id);
    auto found = store_.Find(id);
    if (!found) return Forward(found);
    const auto bytes = std::as_bytes(std::span((*found)->tokens));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  Result<engine::SequenceId> Restore(History tokens, uint64_t salt, std::span<const std::byte> saved) override {
    ++restores;
    if (tokens.size_bytes() > saved.size() ||
        !std::ranges::equal(saved.first(tokens.size_bytes()), std::as_bytes(tokens))) {
      return Fail(ErrorCode::kDataLoss, "the KV of other tokens");
    }
    auto opened = store_.Open({}, salt);
    if (!opened) return Forward(opened);
    Status restored = Reserve(opened->sequence, static_cast<int32_t>(tokens.size()));
    if (restored) restored = store_.Commit(opened->sequence, tokens);
    if (restored) return opened->sequence;
    if (auto closed = store_.Close(opened->sequence); !closed) return Forward(closed);
    return Forward(restored);
  }

  Result<engine::StepResult> ExecuteUnifiedBatch(const engine::UnifiedBatch& batch) override {
    ++steps;
    if (on_step) on_step(batch);
    auto plan = engine::PlanStep(store_, batch, info_.vocab_size, info_.context);
    if (!plan) return Forward(plan);
    if (fault) {
      if (auto refused = fault(batch); !refused) return Forward(refused);
    }
    engine::StepResult result;
    for (const auto& item : batch.items) {
      if (auto committed = store_.Commit(item.sequence, item.tokens); !committed) return Forward(committed);
      const History all = (*store_.Find(item.sequence))->tokens;
      auto& outputs = result.items.emplace_back();
      for (const auto& spec : item.outputs) {
        const auto length = static_cast<size_t>(item.first_position + spec.token_index + 1);
        if (spec.kind == engine::OutputSpec::Kind::kLogprobs) {
          outputs.push_back({.token = spec.target, .chosen = {.id = spec.target, .logprob = -0.25f}});
          continue;
        }
        outputs.push_back({.token = model_(all.first(length), spec)});
        if (spec.top_logprobs) outputs.back().chosen = {.id = outputs.back().token, .logprob = -0.5f};
      }
    }
    if (on_result) on_result(result);
    return result;
  }

  // With async_steps a step runs at the end of its time, in Collect.
  Status Submit(engine::UnifiedBatch batch) override {
    if (!info_.async_steps) return Engine::Submit(std::move(batch));
    if (under_way_) return Fail(ErrorCode::kInvalidArgument, "a step is under way");
    under_way_ = std::move(batch);
    Tell("submit");
    return {};
  }
  Result<engine::StepResult> Collect() override {
    if (!info_.async_steps) return Engine::Collect();
    if (!under_way_) return Fail(ErrorCode::kInvalidArgument, "no step was submitted");
    Tell("collect");
    const engine::UnifiedBatch batch = *std::exchange(under_way_, std::nullopt);
    return ExecuteUnifiedBatch(batch);
  }

  const engine::BlockManager& store() const { return store_; }

  std::function<bool()> prepare_ahead;                       // in place of graphs to capture
  std::function<void(const engine::UnifiedBatch&)> on_step;  // sees every step before it runs
  std::function<Status(const engine::UnifiedBatch&)> fault;  // an error fails the step
  std::function<void(engine::StepResult&)> on_result;        // may damage it
  std::function<void(std::string_view)> on_call;             // "open", "submit" or "collect"
  int64_t steps = 0;
  int64_t misuses = 0;  // calls that named a sequence of a step that was under way
  int64_t restores = 0;
  engine::GraphUsage graph_usage;

 private:
  void Tell(std::string_view call) const {
    if (on_call) on_call(call);
  }
  void CountMisuse(engine::SequenceId id) {
    if (!under_way_) return;
    misuses += std::ranges::count(under_way_->items, id, &engine::BatchItem::sequence);
  }

  FakeEngineOptions options_;
  Model model_;
  engine::BlockManager store_;
  engine::EngineInfo info_;
  std::optional<engine::UnifiedBatch> under_way_;
};

constexpr TokenId kEnd = 256;  // the vocabulary's end token

// Tokens 0 to 255 are bytes, 256 is the end, 257 and on are words.
inline std::shared_ptr<const text::Tokenizer> FakeTokenizer(const std::vector<std::string>& words = {}) {
  text::VocabSpec vocab{.model = "llama"};
  for (int byte = 0; byte < 256; ++byte) {
    vocab.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    vocab.kinds.push_back(text::TokenKind::kByte);
  }
  vocab.tokens.push_back("</s>");
  vocab.kinds.push_back(text::TokenKind::kControl);
  for (const auto& word : words) {
    vocab.tokens.push_back(word);
    vocab.kinds.push_back(text::TokenKind::kNormal);
  }
  vocab.tokens.push_back("<unk>");
  vocab.kinds.push_back(text::TokenKind::kUnknown);
  vocab.unk = static_cast<TokenId>(vocab.tokens.size() - 1);
  vocab.scores.assign(vocab.tokens.size(), 0.0f);
  vocab.eos = kEnd;
  vocab.end_of_generation = {kEnd};
  auto tokenizer = text::Tokenizer::Create(std::move(vocab), {});
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return *tokenizer;
}

inline std::vector<TokenId> Bytes(std::string_view text) {
  std::vector<TokenId> tokens;
  for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  return tokens;
}

// Outputs `script` after any prompt, then always the end token.
inline FakeEngine::Model Says(std::vector<TokenId> script) {
  return [script = std::move(script)](FakeEngine::History history, const engine::OutputSpec& spec) {
    const size_t said = history.size() - static_cast<size_t>(spec.prompt_tokens);
    return said < script.size() ? script[said] : kEnd;
  };
}

// A letter that depends on every token before it, on the seed and on the number of the draw.
inline TokenId Babble(FakeEngine::History history, const engine::OutputSpec& spec) {
  uint64_t hash = spec.sampling.seed * 31 + spec.draw;
  for (const TokenId token : history) hash = (hash ^ static_cast<uint64_t>(token)) * 0x100000001b3u;
  return static_cast<TokenId>('a' + (hash >> 32) % 26);
}

}  // namespace inferflux::scheduler
