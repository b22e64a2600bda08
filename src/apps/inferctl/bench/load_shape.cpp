#include "apps/inferctl/bench/load_shape.h"

#include <cmath>

namespace inferflux::apps {

PromptSource::PromptSource(const LoadShape& shape, uint64_t round)
    : shape_(shape), random_(shape.seed * 0x9e3779b97f4a7c15u + round) {
  prefix_ = Random(static_cast<int32_t>(std::lround(shape.shared_prefix * shape.prompt_tokens)));
}

std::vector<int32_t> PromptSource::Random(int32_t count) {
  std::uniform_int_distribution<int32_t> id(1, shape_.vocab - 1);
  std::vector<int32_t> out;
  for (int32_t i = 0; i < count; ++i) out.push_back(id(random_));
  return out;
}

std::vector<int32_t> PromptSource::Next() {
  std::vector<int32_t> out = prefix_;
  const auto own = Random(shape_.prompt_tokens - static_cast<int32_t>(prefix_.size()));
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

double PromptSource::NextGap() {
  if (shape_.rate <= 0.0) return 0.0;
  return std::exponential_distribution<double>(shape_.rate)(random_);
}

}  // namespace inferflux::apps
