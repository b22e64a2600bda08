// The growth of queries with their position (QueryGrowth): B::GateRows multiplies each row by the sigmoid of a logit,
// and a bound that is a power of two brings the factors below 1. A row's factor depends on its position alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/optional_ops.h"
#include "model/model_config.h"

namespace inferflux::model {

inline double GrowthAt(const QueryGrowth& by, int32_t position) {
  return 1.0 + by.growth * std::log(1.0 + std::floor((double(position) + by.offset) / by.length));
}

// By position, at most twice the model's largest factor.
inline float GrowthBound(const ModelConfig& config) {
  const double most = GrowthAt(*config.query_growth, config.context);
  return static_cast<float>(std::exp2(std::ceil(std::log2(2.0 * std::max(1.0, most)))));
}

// The logits of the factors, [context, 1]: a table to look a position up in, like a token.
template <compute::Backend B>
Result<typename B::Table> LoadGrowthTable(typename B::Context& context, const ModelConfig& config) {
  const double bound = GrowthBound(config);
  const auto logits = std::make_shared<std::vector<float>>();
  for (int32_t position = 0; position < config.context; ++position) {
    const double share = GrowthAt(*config.query_growth, position) / bound;
    logits->push_back(static_cast<float>(std::log(share / (1.0 - share))));
  }
  compute::HostMatrix matrix{.name = "the growth of queries", .rows = config.context, .cols = 1};
  matrix.data = std::as_bytes(std::span<const float>(*logits));
  matrix.owner = logits;
  return B::LoadTable(context, matrix);
}

}  // namespace inferflux::model
