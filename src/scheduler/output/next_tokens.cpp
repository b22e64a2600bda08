#include "scheduler/output/next_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/token_mask.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/softmax.h"
#include "unicode/utf8.h"

namespace inferflux::scheduler {
namespace {

constexpr size_t kQuotedBytes = 80;  // of the output, at the place where it does not fit

std::string TokenBytes(std::span<const TokenId> tokens, const text::Tokenizer& tokenizer) {
  std::string out;
  for (const TokenId token : tokens) out += tokenizer.Bytes(token, true);
  return out;
}

Error DoesNotFit(std::span<const TokenId> output, size_t fits, const Error& why, const text::Tokenizer& tokenizer) {
  std::string good = TokenBytes(output.first(fits), tokenizer);
  const size_t bytes = good.size();
  if (good.size() > kQuotedBytes) good.erase(0, good.size() - kQuotedBytes);
  return {.code = ErrorCode::kInvalidArgument,
          .message = fmt::format(
              "the prefix does not fit the constraint: after {} bytes that do ('{}'), '{}' cannot follow: {}", bytes,
              unicode::ReplaceInvalidUtf8(good), unicode::ReplaceInvalidUtf8(tokenizer.Bytes(output[fits], true)),
              why.message)};
}

// The constraint's position after the output.
Result<std::shared_ptr<const TokenMask>> MaskAfter(text::OutputMatcher at, std::span<const TokenId> output,
                                                   const text::Tokenizer& tokenizer) {
  for (size_t i = 0; i < output.size(); ++i) {
    if (const Status taken = at.Accept(output[i]); !taken) {
      return tl::make_unexpected(DoesNotFit(output, i, taken.error(), tokenizer));
    }
  }
  return at.Mask();
}

// The log probabilities of a row of logits.
class Scores {
 public:
  explicit Scores(std::span<const float> logits) : logits_(logits), weights_(logits.size()) {
    highest_ = engine::Highest(logits_);
    total_ = engine::ExpWeights(logits_, highest_, 1.0f, weights_);
  }

  // The share of the tokens with a finite logit among `kept` in all probability. Summed from the likeliest of them, so
  // that improbable ones do not vanish.
  double Share(std::span<const float> kept) const {
    const float highest = engine::Highest(kept);
    if (!std::isfinite(highest)) return 0.0;
    std::vector<float> weights(kept.size());
    const double sum = engine::ExpWeights(kept, highest, 1.0f, weights);
    return std::min(1.0, std::exp(double{highest} - highest_) * sum / total_);
  }

  std::vector<TokenLogprob> Top(std::span<const float> among, int32_t count, const text::Tokenizer& tokenizer) const {
    std::vector<engine::Candidate> top;
    engine::SelectTop(among, static_cast<size_t>(count), top);
    std::vector<TokenLogprob> out;
    for (const engine::Candidate& each : top) {
      if (!std::isfinite(each.logit)) break;  // what the mask excludes
      out.push_back({.id = each.id,
                     .bytes = std::string(tokenizer.Bytes(each.id, true)),
                     .logprob = static_cast<float>(double{each.logit} - highest_ - std::log(total_))});
    }
    return out;
  }

 private:
  std::span<const float> logits_;
  std::vector<float> weights_;
  float highest_ = 0;
  double total_ = 0;
};

}  // namespace

Result<NextTokens> ScoreNextTokens(std::span<const float> logits, const text::OutputMatcher* matcher,
                                   std::span<const TokenId> output, int32_t top, const text::Tokenizer& tokenizer) {
  std::vector<float> row(logits.begin(), logits.end());
  // Rows beyond the tokenizer's ids are padding of the weights.
  row.resize(std::min(row.size(), static_cast<size_t>(tokenizer.size())));
  engine::Sanitize(row);
  if (row.empty() || !std::isfinite(engine::Highest(row))) {
    return Fail(ErrorCode::kInternal, "the model's logits are not numbers");
  }
  std::shared_ptr<const TokenMask> mask;
  if (matcher != nullptr) {
    auto made = MaskAfter(*matcher, output, tokenizer);
    if (!made) return Forward(made);
    mask = std::move(*made);
  }
  const Scores scores(row);
  NextTokens out{.vocabulary = static_cast<int32_t>(row.size()),
                 .allowed = static_cast<int32_t>(row.size()),
                 .may_end = true,
                 .allowed_probability = 1.0,
                 .top = {},
                 .unconstrained = scores.Top(row, top, tokenizer)};
  if (!mask) {
    out.top = out.unconstrained;
    return out;
  }
  out.allowed = static_cast<int32_t>(mask->count());
  out.may_end = std::ranges::any_of(tokenizer.end_of_generation(), [&](TokenId id) { return mask->Allows(id); });
  std::vector<float> kept = row;
  for (size_t id = 0; id < kept.size(); ++id) {
    if (!mask->Allows(static_cast<TokenId>(id))) kept[id] = -std::numeric_limits<float>::infinity();
  }
  out.allowed_probability = scores.Share(kept);
  out.top = scores.Top(kept, top, tokenizer);
  return out;
}

}  // namespace inferflux::scheduler
