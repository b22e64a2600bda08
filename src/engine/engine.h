// An engine runs one loaded model: it steps batches of sequences and owns their KV. This is the run-time interface:
// NativeEngine<B> implements it for each compute backend, LlamaCppEngine for llama.cpp. ExecuteUnifiedBatch is the one
// step; Prefill, Decode, Submit and Collect are other ways to call it.
//
// Engines are thread-affine: every call except info() must come from one thread, the scheduler's.
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

// What the engine runs and what it can do. The scheduler reads this and never a backend's name.
struct EngineInfo {
  std::string backend;   // "cpu", "reference", "cuda", ...
  std::string provider;  // "native" or "llama_cpp"
  std::string kv_dtype;
  int32_t vocab_size = 0;
  int32_t context = 0;        // maximum tokens of a sequence
  int32_t block_size = 0;     // tokens in a KV block
  int64_t kv_tokens = 0;      // tokens that fit into the whole KV budget
  int32_t max_sequences = 0;  // maximum number of live sequences
  int32_t step_tokens = 512;  // tokens in a step, over all sequences, at which throughput is best
  // Submit returns while the step runs on a device, so that the host is free until Collect.
  bool async_steps = false;
  compute::Capabilities capabilities;
  // false: an encoder. It keeps no KV and generates nothing: a sequence's length stays 0, and its whole input must be
  // in one step.
  bool causal = true;
  int32_t hidden = 0;            // values of a kHidden output; 0: the engine has no such outputs
  model::PoolingConfig pooling;  // how a text's hidden states become its embedding or its scores
  int32_t head_outputs = 0;      // values that ApplyHead makes of a pooled state; 0: the model has no head
  std::vector<DeviceMemory> memory;
  std::vector<std::string> notes;  // what loading did to the weights, and how much memory that takes; logged
  std::vector<std::string> plan;   // one line per matmul: which kernel runs it; logged at debug level
};

// A sequence's next token, and the output requested after it.
struct NextToken {
  SequenceId sequence;
  TokenId token = 0;
  OutputSpec output = {};  // token_index is set by the engine
};

struct KvUsage {
  int64_t blocks_used = 0;    // held by live sequences
  int64_t blocks_cached = 0;  // not held by a sequence, kept for their prefix; free on demand
  int64_t blocks_free = 0;
};

// Decode steps that were captured and are replayed; since the start.
struct GraphUsage {
  int64_t graphs = 0;    // captured
  int64_t replays = 0;   // steps
  int64_t refusals = 0;  // captures that failed; their steps run without a graph
};

struct PrefixMatch {
  SequenceId sequence;
  int32_t cached_tokens = 0;  // the sequence's length: the KV of these tokens already exists
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual const EngineInfo& info() const = 0;

  // --- sequences and their KV ---

  // Opens a sequence that starts with as much of `tokens` as the store still holds. At least the last token is left to
  // compute, because its logits are needed. Sequences opened with different salts never share. kResourceExhausted if
  // the maximum number of sequences is live.
  virtual Result<PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt) = 0;

  // Opens a second sequence with the same tokens. Blocks are shared; the partly filled last one is copied on first
  // write.
  virtual Result<SequenceId> Fork(SequenceId sequence) = 0;

  // Reserves room for `tokens` tokens in total, or changes nothing: kResourceExhausted says how many blocks are
  // missing.
  virtual Status Reserve(SequenceId sequence, int32_t tokens) = 0;

  // Removes the tokens from `length` on. kUnsupported if the model's memory cannot be cut there; nothing has changed
  // then. Any length works if capabilities.speculative_verification is true.
  virtual Status Truncate(SequenceId sequence, int32_t length) = 0;

  // Ends the sequence. Its full blocks can still be matched until their room is needed.
  virtual Status Close(SequenceId sequence) = 0;

  virtual Result<int32_t> Length(SequenceId sequence) const = 0;
  virtual KvUsage usage() const = 0;
  virtual GraphUsage graphs() const { return {}; }
  // Does a short piece of work that later steps would do, as capturing a graph; to be called while nothing waits and no
  // step is under way. False: there is nothing left to do.
  virtual bool PrepareAhead() { return false; }

  // Returns the sequence's KV as bytes, in the engine's own layout. kUnsupported if the engine cannot save KV.
  virtual Result<std::vector<std::byte>> Save(SequenceId) {
    return Fail(ErrorCode::kUnsupported, "{} cannot save KV", info().provider);
  }

  // Opens a sequence of these tokens from KV that Save returned for a sequence starting with them. The caller
  // guarantees that the saving engine had the same model, backend, KV type and block size. On an error nothing is kept:
  // kUnsupported if this engine cannot restore, or cannot now or for these tokens; kDataLoss if the bytes are not
  // Save's.
  virtual Result<SequenceId> Restore(std::span<const TokenId>, uint64_t /*salt*/, std::span<const std::byte>) {
    return Fail(ErrorCode::kUnsupported, "{} cannot restore KV", info().provider);
  }

  // --- steps ---

  // Runs the step; room must be reserved first. On an error no sequence has grown, and the step can be retried. Hidden
  // states are those after the model's last norm.
  virtual Result<StepResult> ExecuteUnifiedBatch(const UnifiedBatch& batch) = 0;

  // What the model's head makes of a text's pooled state, [hidden]: its embedding, before the normalisation, or the
  // scores of its labels. kUnsupported if the model has no head.
  virtual Result<std::vector<float>> ApplyHead(std::span<const float>) {
    return Fail(ErrorCode::kUnsupported, "{} has no head for pooled states", info().provider);
  }

  // Submit starts a step and Collect returns its result. Between the two the caller may prepare the next step, but must
  // not use the step's sequences. Only one step may be in progress: a second Submit, or a Collect without a Submit, is
  // kInvalidArgument. A step's error, also of its start, is Collect's. This default runs the step inside Submit; where
  // info().async_steps, Submit returns while it runs.
  virtual Status Submit(UnifiedBatch batch);
  virtual Result<StepResult> Collect();

  // Reserves room for `tokens` after the sequence's end, and runs them as one step with one output, after the last
  // token.
  Result<OutputResult> Prefill(SequenceId sequence, std::span<const TokenId> tokens, OutputSpec output = {});

  // Reserves room, and runs one step with one token per sequence. The results are in the order of `next`.
  Result<std::vector<OutputResult>> Decode(std::span<const NextToken> next);

 private:
  std::optional<Result<StepResult>> submitted_;
};

}  // namespace inferflux::engine
