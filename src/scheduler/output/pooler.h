// Pools a text's hidden states into one vector, step after step. The result does not depend on how the text was
// chunked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/pooling.h"

namespace inferflux::scheduler {

class Pooler {
 public:
  // `config.type` must be set; the text has `tokens` tokens.
  Pooler(const model::PoolingConfig& config, int32_t tokens) : config_(config), tokens_(tokens) {}

  // Whether the hidden state of the token at `position` counts.
  bool Wants(int32_t position) const;
  // Whether only the last token counts, so that the tokens before it may be cached.
  bool last_only() const { return config_.type == model::Pooling::kLast; }

  // Adds the hidden states of the tokens that count, in their order.
  void Add(std::span<const float> hidden);
  // Starts again: the text will be fed from the beginning.
  void Restart() { sums_.clear(); }

  // The vector, once all states have been added; of length 1 if `normalise`. Not finite if the model's states were not.
  std::vector<float> Take(bool normalise);

 private:
  model::PoolingConfig config_;
  int32_t tokens_;
  std::vector<double> sums_;
};

// Scales the vector to length 1, unless it is all zeros.
void Normalise(std::vector<float>& vector);

}  // namespace inferflux::scheduler
