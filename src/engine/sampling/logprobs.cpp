#include "engine/sampling/logprobs.h"

#include <cmath>
#include <vector>

#include "engine/sampling/candidates.h"
#include "engine/sampling/softmax.h"

namespace inferflux::engine {

void FillLogprobs(std::span<const float> logits, int32_t count, std::span<float> scratch, OutputResult& result) {
  const float highest = Highest(logits);
  const double log_total = std::log(ExpWeights(logits, highest, 1.0f, scratch));
  const auto logprob = [&](float logit) { return static_cast<float>(double{logit} - highest - log_total); };
  result.chosen = {.id = result.token, .logprob = logprob(logits[static_cast<size_t>(result.token)])};
  result.top.clear();
  if (count <= 0) return;
  std::vector<Candidate> top;
  SelectTop(logits, static_cast<size_t>(count), top);
  for (const auto& candidate : top) result.top.push_back({.id = candidate.id, .logprob = logprob(candidate.logit)});
}

}  // namespace inferflux::engine
