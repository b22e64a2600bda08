#include "engine/native/sample_rows.h"

namespace inferflux::engine {
namespace {

// The item's tokens, after those that its sequence holds.
std::unique_ptr<const std::vector<TokenId>> History(std::span<const TokenId> held, const BatchItem& item) {
  auto out = std::make_unique<std::vector<TokenId>>(held.begin(), held.end());
  out->insert(out->end(), item.tokens.begin(), item.tokens.end());
  return out;
}

compute::SampleRow RowOf(const OutputSpec& output, std::span<const TokenId> history) {
  return {.params = &output.sampling,
          .context = {.history = history,
                      .prompt_tokens = output.prompt_tokens,
                      .draw = output.draw,
                      .mirostat_mu = {},
                      .banned = output.banned,
                      .mask = output.mask.get(),
                      .top_logprobs = output.top_logprobs}};
}

}  // namespace

DeviceRows SplitSampling(SequenceTokens tokens_of, const UnifiedBatch& batch,
                         FunctionRef<bool(const compute::SampleRow&)> can_sample) {
  DeviceRows out;
  int32_t number = 0;
  for (const BatchItem& item : batch.items) {
    out.histories.push_back(History(tokens_of(item.sequence), item));
    for (const OutputSpec& output : item.outputs) {
      if (output.kind == OutputSpec::Kind::kHidden) continue;
      const auto length = static_cast<size_t>(item.first_position + output.token_index + 1);
      const compute::SampleRow row = RowOf(output, std::span(*out.histories.back()).first(length));
      if (output.kind == OutputSpec::Kind::kSample && !output.sampling.mirostat && can_sample(row)) {
        out.sampled.push_back(number);
        out.rows.push_back(row);
      } else {
        out.read.push_back(number);
      }
      ++number;
    }
  }
  return out;
}

}  // namespace inferflux::engine
