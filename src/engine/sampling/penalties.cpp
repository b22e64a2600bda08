#include "engine/sampling/penalties.h"

#include <algorithm>
#include <limits>

namespace inferflux::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void KeepAllowed(std::span<float> logits, const TokenMask& mask) {
  const auto words = mask.words();
  for (size_t word = 0; word * 64 < logits.size(); ++word) {
    const auto part = logits.subspan(word * 64, std::min<size_t>(64, logits.size() - word * 64));
    uint64_t allowed = word < words.size() ? words[word] : 0;
    for (float& logit : part) {
      if ((allowed & 1) == 0) logit = kNever;
      allowed >>= 1;
    }
  }
}

}  // namespace

void Penalties::Apply(std::span<float> logits, const SamplingParams& params, std::span<const TokenId> history,
                      int32_t prompt_tokens, std::span<const TokenId> banned, const TokenMask* mask) {
  for (const auto& [id, bias] : params.logit_bias) logits[static_cast<size_t>(id)] += bias;

  counts_.resize(std::max(counts_.size(), logits.size()));
  if (params.repetition_penalty != 1.0f) {  // arXiv:1909.05858, section 4.1
    for (const TokenId id : history) {
      if (counts_[id]++ > 0) continue;
      float& logit = logits[static_cast<size_t>(id)];
      logit = logit > 0.0f ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    }
    for (const TokenId id : history) counts_[id] = 0;
  }
  if (params.presence_penalty != 0.0f || params.frequency_penalty != 0.0f) {
    const auto output = history.subspan(std::min(history.size(), static_cast<size_t>(prompt_tokens)));
    for (const TokenId id : output) ++counts_[id];
    for (const TokenId id : output) {
      if (counts_[id] == 0) continue;  // already done
      logits[static_cast<size_t>(id)] -= params.presence_penalty + params.frequency_penalty * counts_[id];
      counts_[id] = 0;
    }
  }
  for (const TokenId id : banned) logits[static_cast<size_t>(id)] = kNever;
  if (mask != nullptr) KeepAllowed(logits, *mask);
}

}  // namespace inferflux::engine
