#include "engine/llama_cpp/llama_engine.h"

#include <fmt/format.h>

#include "engine/hidden_outputs.h"
#include "engine/llama_cpp/create_llama_engine.h"
#include "engine/llama_cpp/llama_state.h"
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

// "vulkan", or "vulkan 1" if a device was requested.
std::string DeviceName(const LlamaOptions& options) {
  return options.device < 0 ? options.target : fmt::format("{} {}", options.target, options.device);
}

// The library's unified cache is paged, with one token per block. A recurrent model's memory can be cut at few lengths.
compute::EngineTraits TraitsOf(const LoadedLlama& loaded) {
  return {.paged_kv = true, .truncatable_kv = loaded.partial_copies, .addressable_kv = true, .host_logits = true};
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
      decoder_(*loaded_.context, loaded_.causal) {
  const LedgerLimits limits = LimitsOf(loaded_);
  info_ = {.backend = options.target,
           .provider = "llama_cpp",
           .kv_dtype = options.kv_dtype,
           .vocab_size = llama_vocab_n_tokens(llama_model_get_vocab(loaded_.model.get())),
           .context = loaded_.sequence_context,
           .block_size = 1,
           .kv_tokens = limits.cells,
           .max_sequences = limits.max_sequences,
           .capabilities = compute::DeriveCapabilities(
               TraitsOf(loaded_), {.causal = loaded_.causal, .pooled = loaded_.pooling.type.has_value()}),
           .causal = loaded_.causal,
           .hidden = llama_model_n_embd(loaded_.model.get()),
           .pooling = loaded_.pooling,
           // If only some layers are offloaded, the library does not report how much memory is where.
           .memory = {{DeviceName(options) + (options.gpu_layers < 0 || options.target == "cpu" ? "" : " and cpu"),
                       static_cast<int64_t>(llama_model_size(loaded_.model.get()))}},
           .plan = {fmt::format("llama.cpp on {}: {} threads, batches of {} tokens, {} sequence ids", options.target,
                                options.threads, llama_n_batch(loaded_.context.get()), limits.ids)}};
}

Result<PrefixMatch> LlamaCppEngine::Open(std::span<const TokenId> tokens, uint64_t salt) {
  return ledger_.Open(info_.causal ? tokens : std::span<const TokenId>(), salt);
}

Result<std::vector<std::byte>> LlamaCppEngine::Save(SequenceId sequence) {
  const auto tokens = ledger_.Tokens(sequence);
  if (!tokens) return Forward(tokens);
  if (!info_.capabilities.kv_save_restore) return Engine::Save(sequence);
  return SaveState(*loaded_.context, static_cast<int32_t>(sequence.slot), static_cast<int32_t>(tokens->size()));
}

Result<SequenceId> LlamaCppEngine::Restore(std::span<const TokenId> tokens, uint64_t salt,
                                           std::span<const std::byte> saved) {
  if (!info_.capabilities.kv_save_restore) return Engine::Restore(tokens, salt, saved);
  auto opened = ledger_.Open({}, salt);
  if (!opened) return Forward(opened);
  Status loaded = LoadState(opened->sequence, tokens, saved);
  if (loaded) return opened->sequence;
  if (auto closed = ledger_.Close(opened->sequence); !closed) return Forward(closed);
  return Forward(loaded);
}

// Restores the whole state, then removes what follows the tokens.
Status LlamaCppEngine::LoadState(SequenceId sequence, std::span<const TokenId> tokens,
                                 std::span<const std::byte> saved) {
  const auto held = StateTokens(saved);
  if (!held) return Forward(held);
  const auto wanted = static_cast<int32_t>(tokens.size());
  if (*held < wanted || *held > info_.context) {
    return Fail(ErrorCode::kDataLoss, "a saved sequence of {} tokens for one of {}", *held, wanted);
  }
  if (auto reserved = ledger_.Reserve(sequence, *held); !reserved) return reserved;
  const auto id = static_cast<int32_t>(sequence.slot);
  if (auto restored = RestoreState(*loaded_.context, id, saved); !restored) return restored;
  if (*held > wanted && !memory_.Cut(id, wanted)) {
    memory_.Cut(id, 0);
    return Fail(ErrorCode::kUnsupported, "this model's memory cannot be cut from {} tokens to {}", *held, wanted);
  }
  ledger_.Commit(sequence, tokens);
  return {};
}

Result<StepResult> LlamaCppEngine::ExecuteUnifiedBatch(const UnifiedBatch& batch) {
  const auto length = [&](SequenceId id, int32_t count) { return ledger_.WritableLength(id, count); };
  if (auto valid = CheckStep(batch, length, info_.vocab_size, info_.context); !valid) return Forward(valid);
  if (!info_.causal) {
    if (auto valid = CheckHiddenOnly(batch); !valid) return Forward(valid);
  }
  auto outputs = decoder_.Run(batch);
  if (!outputs || !info_.causal) {  // an encoder keeps no KV
    for (const BatchItem& item : batch.items) ledger_.Retract(item.sequence);
    if (!outputs) return Forward(outputs);
  } else {
    for (const BatchItem& item : batch.items) ledger_.Commit(item.sequence, item.tokens);
  }
  const auto tokens_of = [&](SequenceId id) { return *ledger_.Tokens(id); };
  StepResult result = MakeOutputs(tokens_of, batch, outputs->logits, info_.vocab_size, sampler_);
  FillHidden(batch, outputs->hidden, info_.hidden, &result);
  return result;
}

Result<std::unique_ptr<Engine>> CreateLlamaEngine(const model::ModelSource& source, const LlamaOptions& options) {
  if (source.format() != "gguf") {
    return Fail(ErrorCode::kUnsupported,
                "llama.cpp reads GGUF files, and {} is none: inferflux-convert makes one of it", source.path());
  }
  auto loaded = LoadLlama(source, options);
  if (!loaded) return Forward(loaded);
  return std::make_unique<LlamaCppEngine>(std::move(*loaded), options);
}

}  // namespace inferflux::engine
