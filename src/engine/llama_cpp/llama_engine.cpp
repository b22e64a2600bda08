#include "engine/llama_cpp/llama_engine.h"

#include <fmt/format.h>

#include "engine/llama_cpp/create_llama_engine.h"
#include "engine/step_check.h"
#include "engine/step_outputs.h"

namespace inferflux::engine {
namespace {

// Half of the ids are for live sequences, the others keep prefixes.
LedgerLimits LimitsOf(const LoadedLlama& loaded) {
  return {.cells = llama_n_ctx(loaded.context.get()),
          .ids = loaded.ids,
          .max_sequences = (loaded.ids + 1) / 2,
          .partial_copies = loaded.partial_copies};
}

}  // namespace

bool LlamaCppEngine::Memory::Cut(int32_t id, int32_t from) {
  return llama_memory_seq_rm(llama_get_memory(&context_), id, from, -1);
}

void LlamaCppEngine::Memory::Copy(int32_t from, int32_t to, int32_t length) {
  llama_memory_seq_cp(llama_get_memory(&context_), from, to, 0, length);
}

LlamaCppEngine::LlamaCppEngine(LoadedLlama loaded, const LlamaOptions& options)
    : loaded_(std::move(loaded)),
      memory_(*loaded_.context),
      ledger_(LimitsOf(loaded_), memory_),
      decoder_(*loaded_.context) {
  const LedgerLimits limits = LimitsOf(loaded_);
  info_ = {.backend = options.target,
           .provider = "llama_cpp",
           .kv_dtype = options.kv_dtype,
           .vocab_size = llama_vocab_n_tokens(llama_model_get_vocab(loaded_.model.get())),
           .context = loaded_.sequence_context,
           .block_size = 1,
           .kv_tokens = limits.cells,
           .max_sequences = limits.max_sequences,
           .batch_invariant = false,
           .plan = {fmt::format("llama.cpp on {}: {} threads, batches of {} tokens, {} sequence ids", options.target,
                                options.threads, llama_n_batch(loaded_.context.get()), limits.ids)}};
}

Result<PrefixMatch> LlamaCppEngine::Open(std::span<const TokenId> tokens, uint64_t salt) {
  return ledger_.Open(tokens, salt);
}

Result<StepResult> LlamaCppEngine::ExecuteUnifiedBatch(const UnifiedBatch& batch) {
  const auto length = [&](SequenceId id, int32_t count) { return ledger_.WritableLength(id, count); };
  if (auto valid = CheckStep(batch, length, info_.vocab_size, info_.context); !valid) return Forward(valid);
  auto logits = decoder_.Run(batch);
  if (!logits) {
    for (const BatchItem& item : batch.items) ledger_.Retract(item.sequence);
    return Forward(logits);
  }
  for (const BatchItem& item : batch.items) ledger_.Commit(item.sequence, item.tokens);
  const auto tokens_of = [&](SequenceId id) { return *ledger_.Tokens(id); };
  return MakeOutputs(tokens_of, batch, *logits, info_.vocab_size, sampler_);
}

Result<std::unique_ptr<InferenceBackend>> CreateLlamaEngine(const model::ModelSource& source,
                                                            const LlamaOptions& options) {
  if (source.format() != "gguf") {
    return Fail(ErrorCode::kUnsupported,
                "llama.cpp reads GGUF files, and {} is none: inferflux-convert makes one of it", source.path());
  }
  auto loaded = LoadLlama(source.path(), options);
  if (!loaded) return Forward(loaded);
  return std::make_unique<LlamaCppEngine>(std::move(*loaded), options);
}

}  // namespace inferflux::engine
