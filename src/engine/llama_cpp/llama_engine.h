// One model on libllama, with the same interface as our own engines: continuous batching through llama_batch, shared
// prefixes through its unified cache, our own sampler on its logits.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/llama_cpp/cell_ledger.h"
#include "engine/llama_cpp/llama_decode.h"
#include "engine/llama_cpp/llama_load.h"
#include "engine/sampling/sampler.h"

namespace inferflux::engine {

class LlamaCppEngine final : public Engine {
 public:
  LlamaCppEngine(LoadedLlama loaded, const LlamaOptions& options);

  const EngineInfo& info() const override { return info_; }
  Result<PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) override;
  Result<SequenceId> Fork(SequenceId sequence) override { return ledger_.Fork(sequence); }
  Status Reserve(SequenceId sequence, int32_t tokens) override { return ledger_.Reserve(sequence, tokens); }
  Status Truncate(SequenceId sequence, int32_t length) override { return ledger_.Truncate(sequence, length); }
  Status Close(SequenceId sequence) override { return ledger_.Close(sequence); }
  Result<int32_t> Length(SequenceId sequence) const override { return ledger_.WritableLength(sequence, 0); }
  KvUsage usage() const override { return ledger_.usage(); }
  Result<std::vector<std::byte>> Save(SequenceId sequence) override;
  Result<SequenceId> Restore(std::span<const TokenId> tokens, uint64_t salt, std::span<const std::byte> saved) override;
  Result<StepResult> ExecuteUnifiedBatch(const UnifiedBatch& batch) override;

 private:
  Status LoadState(SequenceId sequence, std::span<const TokenId> tokens, std::span<const std::byte> saved);

  class Memory final : public SequenceMemory {
   public:
    explicit Memory(llama_context& context) : context_(context) {}
    bool Cut(int32_t id, int32_t from) override;
    void Copy(int32_t from, int32_t to, int32_t length) override;

   private:
    llama_context& context_;
  };

  LoadedLlama loaded_;  // outlives the members below
  Memory memory_;
  CellLedger ledger_;
  LlamaDecoder decoder_;
  Sampler sampler_;
  EngineInfo info_;
};

}  // namespace inferflux::engine
