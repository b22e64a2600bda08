#include "engine/llama_cpp/llama_decode.h"

#include <algorithm>
#include <exception>

#include "engine/hidden_outputs.h"

namespace inferflux::engine {
namespace {

// The library is C++ with a C interface: exceptions that it does not catch must not pass through our code.
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

LlamaDecoder::LlamaDecoder(llama_context& context, bool causal)
    : context_(context),
      causal_(causal),
      capacity_(static_cast<int32_t>(llama_n_batch(&context))),
      micro_capacity_(static_cast<int32_t>(llama_n_ubatch(&context))),
      vocab_size_(static_cast<size_t>(llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(&context))))),
      hidden_size_(static_cast<size_t>(llama_model_n_embd(llama_get_model(&context)))),
      batch_(new llama_batch(llama_batch_init(capacity_, 0, 1))) {}

std::vector<LlamaDecoder::Row> LlamaDecoder::RowsOf(const UnifiedBatch& batch) {
  std::vector<Row> rows;
  size_t logits = 0, hidden = 0;
  for (const BatchItem& item : batch.items) {
    const size_t first = rows.size();
    for (size_t i = 0; i < item.tokens.size(); ++i) {
      rows.push_back({.token = item.tokens[i],
                      .position = item.first_position + static_cast<llama_pos>(i),
                      .sequence = static_cast<llama_seq_id>(item.sequence.slot)});
    }
    for (const OutputSpec& output : item.outputs) {
      Row& row = rows[first + static_cast<size_t>(output.token_index)];
      if (output.kind == OutputSpec::Kind::kHidden) {
        row.hidden.push_back(hidden++);
      } else {
        row.logits.push_back(logits++);
      }
    }
  }
  return rows;
}

// If attention is not causal, the library attends within one call, so a call must hold whole texts. For hidden states
// it also computes logits of every token in the call, so calls are kept small.
int32_t LlamaDecoder::RowsOfCall(const UnifiedBatch& batch, const std::vector<Row>& rows, size_t first) const {
  const size_t left = rows.size() - first;
  if (causal_) {
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(first + std::min(left, static_cast<size_t>(capacity_)));
    const bool hidden = std::any_of(rows.begin() + static_cast<std::ptrdiff_t>(first), end,
                                    [](const Row& row) { return !row.hidden.empty(); });
    return static_cast<int32_t>(std::min(left, static_cast<size_t>(hidden ? micro_capacity_ : capacity_)));
  }
  size_t begin = 0, count = 0;
  for (const BatchItem& item : batch.items) {
    if (begin >= first && count + item.tokens.size() > static_cast<size_t>(capacity_)) break;
    if (begin >= first) count += item.tokens.size();
    begin += item.tokens.size();
  }
  return static_cast<int32_t>(count);
}

Result<LlamaDecoder::Outputs> LlamaDecoder::Run(const UnifiedBatch& batch) {
  const std::vector<Row> rows = RowsOf(batch);
  const OutputRows outputs = SplitOutputs(batch);
  Outputs out{.logits = std::vector<float>(outputs.logits.size() * vocab_size_),
              .hidden = std::vector<float>(outputs.hidden.size() * hidden_size_)};
  for (size_t first = 0; first < rows.size();) {
    const int32_t count = RowsOfCall(batch, rows, first);
    if (auto done = Decode(&rows[first], count, out); !done) return Forward(done);
    first += static_cast<size_t>(count);
  }
  return out;
}

Status LlamaDecoder::Decode(const Row* rows, int32_t count, Outputs& out) {
  const bool hidden = std::any_of(rows, rows + count, [](const Row& row) { return !row.hidden.empty(); });
  llama_set_embeddings(&context_, hidden);
  batch_->n_tokens = count;
  for (int32_t i = 0; i < count; ++i) {
    batch_->token[i] = rows[i].token;
    batch_->pos[i] = rows[i].position;
    batch_->n_seq_id[i] = 1;
    batch_->seq_id[i][0] = rows[i].sequence;
    batch_->logits[i] = hidden || rows[i].wanted() ? 1 : 0;
  }
  if (auto done = CallDecode(context_, *batch_); !done) return done;
  const auto copy = [&](const float* row, size_t size, const std::vector<size_t>& places, std::vector<float>& to) {
    for (const size_t place : places) {
      if (row == nullptr) return false;
      std::copy_n(row, size, to.begin() + static_cast<std::ptrdiff_t>(place * size));
    }
    return true;
  };
  for (int32_t i = 0; i < count; ++i) {
    const float* logits = rows[i].logits.empty() ? nullptr : llama_get_logits_ith(&context_, i);
    const float* states = rows[i].hidden.empty() ? nullptr : llama_get_embeddings_ith(&context_, i);
    if (copy(logits, vocab_size_, rows[i].logits, out.logits) &&
        copy(states, hidden_size_, rows[i].hidden, out.hidden)) {
      continue;
    }
    return Fail(ErrorCode::kInternal, "llama.cpp gave nothing for token {} of its batch", i);
  }
  return {};
}

}  // namespace inferflux::engine
