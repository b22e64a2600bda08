#include "server/openai/rerank/score_values.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace inferflux::server {
namespace {

bool IsYes(const std::string& label) {
  constexpr std::string_view kYes = "yes";
  return std::ranges::equal(label, kYes,
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

}  // namespace

std::vector<double> ReportedScores(std::span<const float> scores, model::ScoreFunction function, bool raw) {
  std::vector<double> out(scores.begin(), scores.end());
  if (raw || out.empty() || function == model::ScoreFunction::kNone) return out;
  if (function == model::ScoreFunction::kSigmoid) {
    for (double& score : out) score = 1.0 / (1.0 + std::exp(-score));
    return out;
  }
  const double highest = *std::ranges::max_element(out);
  double total = 0.0;
  for (double& score : out) total += score = std::exp(score - highest);
  for (double& score : out) score /= total;
  return out;
}

std::optional<size_t> RelevanceLabel(std::span<const std::string> labels) {
  if (labels.size() == 1) return 0;
  if (labels.size() != 2) return std::nullopt;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (IsYes(labels[i])) return i;
  }
  return std::nullopt;
}

}  // namespace inferflux::server
