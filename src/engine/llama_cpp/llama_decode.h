// Runs a step's tokens through the library: one llama_decode call for as many sequences and tokens as fit into a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/llama_cpp/llama_library.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

class LlamaDecoder {
 public:
  // `context` must outlive the decoder.
  LlamaDecoder(llama_context& context, bool causal);

  struct Outputs {
    std::vector<float> logits;  // [outputs except hidden ones, vocab], in the order of items and outputs
    std::vector<float> hidden;  // [hidden outputs, hidden]
  };
  // On an error, some of the tokens may have been computed.
  Result<Outputs> Run(const UnifiedBatch& batch);

 private:
  struct Row {  // one token of the step
    TokenId token = 0;
    llama_pos position = 0;
    llama_seq_id sequence = 0;
    std::vector<size_t> logits;  // outputs after this token, by their index in the step
    std::vector<size_t> hidden;
    bool wanted() const { return !logits.empty() || !hidden.empty(); }
  };
  struct BatchDeleter {
    void operator()(llama_batch* batch) const {
      llama_batch_free(*batch);
      delete batch;
    }
  };

  static std::vector<Row> RowsOf(const UnifiedBatch& batch);
  int32_t RowsOfCall(const UnifiedBatch& batch, const std::vector<Row>& rows, size_t first) const;
  Status Decode(const Row* rows, int32_t count, Outputs& out);

  llama_context& context_;
  bool causal_;
  int32_t capacity_;        // tokens per call
  int32_t micro_capacity_;  // tokens that are computed at once
  size_t vocab_size_;
  size_t hidden_size_;
  std::unique_ptr<llama_batch, BatchDeleter> batch_;
};

}  // namespace inferflux::engine
