#include "scheduler/speculation/prediction.h"

#include <algorithm>
#include <cstddef>

namespace inferflux::scheduler {
namespace {

constexpr size_t kShortestPredicted = 2;
constexpr size_t kLongestPredicted = 64;  // predictions such as code repeat themselves in longer parts than prompts

}  // namespace

std::vector<TokenId> PredictedDraft(std::span<const TokenId> prediction, std::span<const TokenId> generated,
                                    int32_t count) {
  if (generated.empty() || count <= 0) return {};
  const size_t longest = std::min(kLongestPredicted, generated.size());
  size_t best = 0;  // where the draft begins
  size_t best_length = kShortestPredicted - 1;
  if (generated.size() == 1 && !prediction.empty() && prediction[0] == generated[0]) best = 1;
  for (size_t end = kShortestPredicted; end <= prediction.size() && best_length < longest; ++end) {
    size_t length = 0;
    while (length < std::min(longest, end) &&
           prediction[end - 1 - length] == generated[generated.size() - 1 - length]) {
      ++length;
    }
    if (length <= best_length) continue;
    best = end;
    best_length = length;
  }
  if (best == 0) return {};
  const auto draft = prediction.subspan(best, std::min(static_cast<size_t>(count), prediction.size() - best));
  return {draft.begin(), draft.end()};
}

}  // namespace inferflux::scheduler
