#include "engine/llama_cpp/llama_decode.h"

#include <algorithm>
#include <exception>

namespace inferflux::engine {
namespace {

// The library is C++ behind a C interface: what it does not catch must not pass through ours.
Status CallDecode(llama_context& context, const llama_batch& batch) {
  const LlamaComplaints complaints;
  try {
    const int32_t code = llama_decode(&context, batch);
    if (code == 0) return {};
    if (code == 1) {
      return Fail(ErrorCode::kResourceExhausted, "llama.cpp finds no room for {} tokens in its KV", batch.n_tokens);
    }
    return Fail(ErrorCode::kInternal, "llama.cpp failed on a batch of {} tokens (code {}): {}", batch.n_tokens, code,
                complaints.text());
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInternal, "llama.cpp failed on a batch of {} tokens: {}", batch.n_tokens, error.what());
  }
}

}  // namespace

LlamaDecoder::LlamaDecoder(llama_context& context)
    : context_(context),
      capacity_(static_cast<int32_t>(llama_n_batch(&context))),
      vocab_size_(static_cast<size_t>(llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(&context))))),
      batch_(new llama_batch(llama_batch_init(capacity_, 0, 1))) {}

std::vector<LlamaDecoder::Row> LlamaDecoder::RowsOf(const UnifiedBatch& batch) {
  std::vector<Row> rows;
  size_t outputs = 0;
  for (const BatchItem& item : batch.items) {
    const size_t first = rows.size();
    for (size_t i = 0; i < item.tokens.size(); ++i) {
      rows.push_back({.token = item.tokens[i],
                      .position = item.first_position + static_cast<llama_pos>(i),
                      .sequence = static_cast<llama_seq_id>(item.sequence.slot)});
    }
    for (const OutputSpec& output : item.outputs) {
      rows[first + static_cast<size_t>(output.token_index)].outputs.push_back(outputs++);
    }
  }
  return rows;
}

Result<std::vector<float>> LlamaDecoder::Run(const UnifiedBatch& batch) {
  const std::vector<Row> rows = RowsOf(batch);
  size_t outputs = 0;
  for (const BatchItem& item : batch.items) outputs += item.outputs.size();
  std::vector<float> logits(outputs * vocab_size_);
  for (size_t first = 0; first < rows.size();) {
    const auto count = static_cast<int32_t>(std::min<size_t>(static_cast<size_t>(capacity_), rows.size() - first));
    if (auto done = Decode(&rows[first], count, logits); !done) return Forward(done);
    first += static_cast<size_t>(count);
  }
  return logits;
}

Status LlamaDecoder::Decode(const Row* rows, int32_t count, std::vector<float>& logits) {
  batch_->n_tokens = count;
  for (int32_t i = 0; i < count; ++i) {
    batch_->token[i] = rows[i].token;
    batch_->pos[i] = rows[i].position;
    batch_->n_seq_id[i] = 1;
    batch_->seq_id[i][0] = rows[i].sequence;
    batch_->logits[i] = rows[i].outputs.empty() ? 0 : 1;
  }
  if (auto done = CallDecode(context_, *batch_); !done) return done;
  for (int32_t i = 0; i < count; ++i) {
    if (rows[i].outputs.empty()) continue;
    const float* row = llama_get_logits_ith(&context_, i);
    if (row == nullptr) return Fail(ErrorCode::kInternal, "llama.cpp gave no logits for token {} of its batch", i);
    for (const size_t output : rows[i].outputs) {
      std::copy_n(row, vocab_size_, logits.begin() + static_cast<std::ptrdiff_t>(output * vocab_size_));
    }
  }
  return {};
}

}  // namespace inferflux::engine
