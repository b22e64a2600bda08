#include "server/reply/likeliest_answers.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace inferflux::server {
namespace {

double MeanLogprob(const scheduler::StreamEvent& answer) {
  if (answer.tokens.empty()) return 0;
  double sum = 0;
  for (const scheduler::GeneratedToken& token : answer.tokens) sum += double{token.chosen.logprob};
  return sum / static_cast<double>(answer.tokens.size());
}

}  // namespace

std::vector<scheduler::StreamEvent> LikeliestAnswers(std::vector<scheduler::StreamEvent> answers, size_t made,
                                                     size_t kept) {
  std::vector<scheduler::StreamEvent> out;
  for (size_t first = 0; first + made <= answers.size(); first += made) {
    std::vector<size_t> order(made);
    std::iota(order.begin(), order.end(), first);
    std::ranges::stable_sort(order,
                             [&](size_t a, size_t b) { return MeanLogprob(answers[a]) > MeanLogprob(answers[b]); });
    for (size_t i = 0; i < std::min(kept, made); ++i) out.push_back(std::move(answers[order[i]]));
  }
  return out;
}

}  // namespace inferflux::server
