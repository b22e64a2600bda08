// An engine that runs one loaded model: it steps batches of sequences and owns their KV. The run-time seam:
// NativeEngine<B> is one for each compute backend, the llama.cpp engine is another.
//
// Engines are thread-affine: every call but info() is made on one thread, the step loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "engine/device_memory.h"
#include "engine/sequence.h"
#include "engine/unified_batch.h"
#include "model/pooling.h"

namespace inferflux::engine {

// What the engine can do, derived from its compute backend's concepts: the scheduler asks this, never a name.
struct EngineInfo {
  std::string backend;   // "cpu", "reference", "cuda", ...
  std::string provider;  // "native" or "llama_cpp"
  std::string kv_dtype;
  int32_t vocab_size = 0;
  int32_t context = 0;        // tokens a sequence may have
  int32_t block_size = 0;     // tokens a KV block holds
  int64_t kv_tokens = 0;      // tokens that the whole KV budget holds
  int32_t max_sequences = 0;  // live at once
  int32_t step_tokens = 512;  // tokens of a step, of many sequences' prompts too, that are computed at the best rate
  bool batch_invariant = false;
  bool saves_kv = false;  // Save and Restore work
  // Truncate works at any length. Where not, it refuses most of them, and what was taken for granted is computed again:
  // nothing is drafted ahead.
  bool truncates = true;
  bool token_masks = false;  // kSample outputs keep to OutputSpec::mask
  // false: an encoder. It keeps no KV and generates nothing: a sequence's length stays 0, and what is fed to it is fed
  // as a whole, in one step.
  bool causal = true;
  int32_t hidden = 0;            // values of a kHidden output; 0: the engine has no such outputs
  model::PoolingConfig pooling;  // how a text's hidden states become its embedding
  std::vector<DeviceMemory> memory;
  std::vector<std::string> notes;  // what loading did to the weights, and what memory that costs; logged
  std::vector<std::string> plan;   // one line a product: which kernel runs it; logged at debug level
};

struct KvUsage {
  int64_t blocks_used = 0;    // held by live sequences
  int64_t blocks_cached = 0;  // held by no sequence, kept for their prefix; free on demand
  int64_t blocks_free = 0;
};

struct PrefixMatch {
  SequenceId sequence;
  int32_t cached_tokens = 0;  // the sequence's length: the KV of these is there already
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual const EngineInfo& info() const = 0;

  // --- sequences and their KV ---

  // Opens a sequence that begins with as much of `tokens` as the store still holds; at least the last token is always
  // left to compute, since its logits are wanted. Sequences opened under different salts never share.
  // kResourceExhausted where no more sequences may live.
  virtual Result<PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) = 0;

  // A second sequence with the same tokens; blocks are shared, the partly filled last one is copied on the first write.
  virtual Result<SequenceId> Fork(SequenceId sequence) = 0;

  // Makes room for `tokens` tokens in all, or changes nothing: kResourceExhausted says how many blocks are missing.
  virtual Status Reserve(SequenceId sequence, int32_t tokens) = 0;

  // Forgets the tokens from `length` on. kUnsupported where the model's memory cannot be cut there; nothing has changed
  // then.
  virtual Status Truncate(SequenceId sequence, int32_t length) = 0;

  // Ends the sequence. Its full blocks stay to be matched until their room is needed.
  virtual Status Close(SequenceId sequence) = 0;

  virtual Result<int32_t> Length(SequenceId sequence) const = 0;
  virtual KvUsage usage() const = 0;

  // The sequence's KV as bytes, in a layout of the engine's own. kUnsupported where the engine cannot.
  virtual Result<std::vector<std::byte>> Save(SequenceId) {
    return Fail(ErrorCode::kUnsupported, "{} cannot save KV", info().provider);
  }

  // Opens a sequence of these tokens, whose KV is what Save gave for a sequence that began with them, on an engine of
  // the same model, backend, KV type and block size: the caller vouches for that. Nothing is kept on an error:
  // kUnsupported where this engine cannot, or not now or not for these tokens, kDataLoss where the bytes are not what
  // Save gave.
  virtual Result<SequenceId> Restore(std::span<const TokenId>, uint64_t /*salt*/, std::span<const std::byte>) {
    return Fail(ErrorCode::kUnsupported, "{} cannot restore KV", info().provider);
  }

  // --- steps ---

  // Runs the step; room must have been reserved. On an error no sequence has grown: the step can be tried again. Hidden
  // states are those behind the model's last norm.
  virtual Result<StepResult> ExecuteUnifiedBatch(const UnifiedBatch& batch) = 0;
};

}  // namespace inferflux::engine
