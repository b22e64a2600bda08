#include "engine/step_outputs.h"

#include <optional>
#include <utility>

namespace inferflux::engine {

StepResult MakeOutputs(SequenceTokens tokens_of, const UnifiedBatch& batch, std::span<float> logits, int32_t vocab_size,
                       Sampler& sampler, std::span<std::optional<compute::SampledToken>> sampled) {
  StepResult result;
  result.items.resize(batch.items.size());
  size_t row = 0, number = 0;  // index of the row of logits; index among outputs that need logits
  for (size_t i = 0; i < batch.items.size(); ++i) {
    const BatchItem& item = batch.items[i];
    const std::span<const TokenId> tokens = tokens_of(item.sequence);
    std::optional<float> mirostat_mu;  // after the previous draw: an accepted draft token continues from there
    for (const auto& output : item.outputs) {
      if (output.kind == OutputSpec::Kind::kHidden) {
        result.items[i].emplace_back();
        continue;
      }
      if (auto* chosen = sampled.empty() ? nullptr : &sampled[number++]; chosen != nullptr && *chosen) {
        result.items[i].push_back(
            {.token = (*chosen)->token, .chosen = (*chosen)->chosen, .top = std::move((*chosen)->top)});
        continue;
      }
      const auto values = logits.subspan(row++ * static_cast<size_t>(vocab_size), static_cast<size_t>(vocab_size));
      if (output.kind == OutputSpec::Kind::kLogits) {
        result.items[i].push_back({.logits = {values.begin(), values.end()}});
        continue;
      }
      if (output.kind == OutputSpec::Kind::kLogprobs) {
        OutputResult& scored = result.items[i].emplace_back(OutputResult{.token = output.target});
        sampler.Score(values, output.top_logprobs.value_or(0), scored);
        continue;
      }
      const auto length = static_cast<size_t>(item.first_position + output.token_index + 1);
      result.items[i].push_back(sampler.Sample(values, output.sampling,
                                               {.history = tokens.first(length),
                                                .prompt_tokens = output.prompt_tokens,
                                                .draw = output.draw,
                                                .mirostat_mu = output.mirostat_mu ? output.mirostat_mu : mirostat_mu,
                                                .banned = output.banned,
                                                .mask = output.mask.get(),
                                                .top_logprobs = output.top_logprobs}));
      mirostat_mu = result.items[i].back().mirostat_mu;
    }
  }
  return result;
}

}  // namespace inferflux::engine
