// What the checkpoints of encoders have in common.
#pragma once

#include <string_view>
#include <vector>

namespace inferflux::model {

inline const std::vector<std::string_view> kEncoderPrefixes = {"model.", "transformer.", "bert.", "roberta."};

// Tensors for tasks other than embedding, and the position ids.
inline const std::vector<std::string_view> kEncoderHeads = {
    "pooler.*", "cls.*", "classifier.*", "lm_head.*", "*.rotary_emb.inv_freq", "*embeddings.position_ids"};

}  // namespace inferflux::model
