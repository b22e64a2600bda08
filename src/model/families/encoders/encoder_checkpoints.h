// What the checkpoints of encoders have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/families/checkpoint.h"
#include "model/loading/model_source.h"

namespace inferflux::model {

// Rows of the table of token types.
inline int32_t TokenTypes(const ModelSource& source) {
  constexpr int64_t kMost = 1 << 16;
  const compute::HostMatrix* table = source.Find("token_types.weight");
  return table == nullptr ? 0 : static_cast<int32_t>(std::min(table->rows, kMost));
}

// GGUF files call it BERT, so it is a kind of directory of that family.
Checkpoint DistilBertCheckpoint();

inline const std::vector<std::string_view> kEncoderPrefixes = {"model.", "transformer.", "bert.", "roberta."};

// Tensors for tasks other than embedding, and the position ids.
inline const std::vector<std::string_view> kEncoderHeads = {
    "pooler.*", "cls.*", "classifier.*", "lm_head.*", "*.rotary_emb.inv_freq", "*embeddings.position_ids"};

}  // namespace inferflux::model
