// How the hidden states of a text become one vector.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace inferflux::model {

enum class Pooling {
  kMean,  // of all tokens
  kCls,   // the first token's
  kLast,  // the last token's
};

struct PoolingConfig {
  std::optional<Pooling> type;   // nothing: the model does not make embeddings
  bool normalise = true;         // normalised to length 1
  std::vector<int32_t> lengths;  // lengths to which a vector may be truncated, as trained (arXiv:2205.13147); ascending
};

}  // namespace inferflux::model
