// An engine that runs one loaded model: it steps batches of sequences and owns their KV. The run-time seam:
// NativeEngine<B> is one for each compute backend, the llama.cpp engine is another. ExecuteUnifiedBatch is the one
// step; Prefill, Decode, Submit and Collect are other ways to call it.
//
// Engines are thread-affine: every call but info() is made on one thread, the step loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "compute/capabilities.h"
#include "engine/device_memory.h"
#include "engine/sequence.h"
#include "engine/unified_batch.h"
#include "model/pooling.h"

namespace inferflux::engine {

// What the engine runs and what it can do: the scheduler reads this, never a backend's name.
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
  compute::Capabilities capabilities;
  // false: an encoder. It keeps no KV and generates nothing: a sequence's length stays 0, and what is fed to it is fed
  // as a whole, in one step.
  bool causal = true;
  int32_t hidden = 0;            // values of a kHidden output; 0: the engine has no such outputs
  model::PoolingConfig pooling;  // how a text's hidden states become its embedding
  std::vector<DeviceMemory> memory;
  std::vector<std::string> notes;  // what loading did to the weights, and what memory that costs; logged
  std::vector<std::string> plan;   // one line per matmul: which kernel runs it; logged at debug level
};

// A sequence's next token, and what is wanted of the logits after it.
struct NextToken {
  SequenceId sequence;
  TokenId token = 0;
  OutputSpec output = {};  // its token_index is set
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
  // then. Any length can be had where capabilities.speculative_verification is true.
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
  // states are those after the model's last norm.
  virtual Result<StepResult> ExecuteUnifiedBatch(const UnifiedBatch& batch) = 0;

  // Submit starts a step and Collect gives its result; between the two the caller may prepare the next step, but must
  // not use the step's sequences. One step may be under way: a second Submit, or a Collect without one, is
  // kInvalidArgument. Here the step runs inside Submit, and an error of it comes out of Collect.
  virtual Status Submit(UnifiedBatch batch);
  virtual Result<StepResult> Collect();

  // Reserves room for `tokens` after what the sequence holds, and runs them as one step with one output, after the
  // last.
  Result<OutputResult> Prefill(SequenceId sequence, std::span<const TokenId> tokens, OutputSpec output = {});

  // Reserves room, and runs one step of one token for each sequence. The results are in the order of `next`.
  Result<std::vector<OutputResult>> Decode(std::span<const NextToken> next);

 private:
  std::optional<Result<StepResult>> submitted_;
};

}  // namespace inferflux::engine
