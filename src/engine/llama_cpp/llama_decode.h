// A step's tokens through the library: one llama_decode for as many sequences and tokens as a batch takes.
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
  explicit LlamaDecoder(llama_context& context);

  // The logits of every output of the batch, [outputs, vocab], in the order of items and outputs. On an error some of
  // the tokens may have been computed.
  Result<std::vector<float>> Run(const UnifiedBatch& batch);

 private:
  struct Row {  // one token of the step
    TokenId token = 0;
    llama_pos position = 0;
    llama_seq_id sequence = 0;
    std::vector<size_t> outputs;  // those that follow it, by their number in the step
  };
  struct BatchDeleter {
    void operator()(llama_batch* batch) const {
      llama_batch_free(*batch);
      delete batch;
    }
  };

  static std::vector<Row> RowsOf(const UnifiedBatch& batch);
  Status Decode(const Row* rows, int32_t count, std::vector<float>& logits);

  llama_context& context_;
  int32_t capacity_;  // tokens a call
  size_t vocab_size_;
  std::unique_ptr<llama_batch, BatchDeleter> batch_;
};

}  // namespace inferflux::engine
