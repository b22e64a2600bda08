#include "compute/host/moe_routing.h"

#include <algorithm>
#include <cmath>

namespace inferflux::compute::host {
namespace {

// The index of the highest score that is not taken; the lowest index on ties. In range for any scores, NaN included.
int32_t Best(std::span<const double> scores, const std::vector<bool>& taken) {
  int32_t best = -1;
  for (size_t e = 0; e < scores.size(); ++e) {
    if (!taken[e] && (best < 0 || scores[e] > scores[static_cast<size_t>(best)])) best = static_cast<int32_t>(e);
  }
  return best;
}

void Score(const float* logits, ExpertScore kind, std::vector<double>& scores) {
  if (kind == ExpertScore::kSigmoid) {
    for (size_t e = 0; e < scores.size(); ++e) scores[e] = 1.0 / (1.0 + std::exp(-double{logits[e]}));
    return;
  }
  if (kind == ExpertScore::kSparseMixer) {
    std::copy_n(logits, scores.size(), scores.begin());
    return;
  }
  const float highest = *std::max_element(logits, logits + scores.size());
  double total = 0.0;
  for (size_t e = 0; e < scores.size(); ++e) total += scores[e] = std::exp(double{logits[e]} - highest);
  for (double& score : scores) score /= total;
}

// The experts whose group is not chosen from.
std::vector<bool> LeftOut(std::span<const double> choice, const RoutingParams& params) {
  std::vector<bool> out(choice.size(), false);
  if (params.groups <= 1) return out;
  const size_t size = choice.size() / static_cast<size_t>(params.groups);
  std::vector<double> groups;
  for (size_t first = 0; first < choice.size(); first += size) {
    const auto group = choice.subspan(first, size);
    std::vector<bool> taken(size, false);
    double sum = 0.0;
    for (size_t i = 0; i < std::min<size_t>(static_cast<size_t>(params.group_scores), size); ++i) {
      const auto best = static_cast<size_t>(Best(group, taken));
      taken[best] = true;
      sum += group[best];
    }
    groups.push_back(sum);
  }
  std::vector<bool> chosen(groups.size(), false);
  for (int32_t i = 0; i < params.used_groups; ++i) chosen[static_cast<size_t>(Best(groups, chosen))] = true;
  for (size_t e = 0; e < out.size(); ++e) out[e] = !chosen[e / size];
  return out;
}

// The weight of the expert `best`: the softmax over `best` and the experts that are not chosen yet and whose logits are
// within the tolerance.
double MixedWeight(std::span<const double> logits, const std::vector<bool>& taken, int32_t best, float tolerance) {
  const double highest = logits[static_cast<size_t>(best)];
  double total = 0.0;
  for (size_t e = 0; e < logits.size(); ++e) {
    if (taken[e] || highest - logits[e] > tolerance * std::max(std::abs(logits[e]), highest)) continue;
    total += std::exp(logits[e] - highest);
  }
  return 1.0 / total;
}

}  // namespace

Routing Route(View logits, const RoutingParams& params, const View* biases) {
  Routing out{.rows = static_cast<int32_t>(logits.rows), .used = params.used};
  std::vector<double> scores(static_cast<size_t>(logits.cols)), choice;
  std::vector<bool> taken;
  for (int64_t r = 0; r < logits.rows; ++r) {
    Score(logits.row(r), params.score, scores);
    choice = scores;
    for (size_t e = 0; biases != nullptr && e < choice.size(); ++e) choice[e] += biases->data[e];
    taken = LeftOut(choice, params);
    double chosen = 0.0;
    for (int32_t i = 0; i < params.used; ++i) {
      const int32_t best = Best(choice, taken);
      if (params.score == ExpertScore::kSparseMixer) {
        out.weights.push_back(static_cast<float>(MixedWeight(scores, taken, best, params.tolerance)) * params.scale);
      }
      taken[static_cast<size_t>(best)] = true;
      out.experts.push_back(best);
      chosen += scores[static_cast<size_t>(best)];
    }
    if (params.score == ExpertScore::kSparseMixer) continue;
    const double whole = params.normalise ? std::max<double>(chosen, kLeastScoreSum) : 1.0;
    for (int64_t l = out.lines() - params.used; l < out.lines(); ++l) {
      const double weight = scores[static_cast<size_t>(out.experts[l])] / whole;
      out.weights.push_back(static_cast<float>(weight) * params.scale);
    }
  }
  return out;
}

Buffer AddExpertBias(Arena& arena, View x, View biases, const Routing& routing) {
  Buffer out = arena.Allocate(x.rows, x.cols);
  for (int64_t l = 0; l < x.rows; ++l) {
    const float* bias = biases.data + routing.experts[l] * x.cols;
    for (int64_t c = 0; c < x.cols; ++c) out.row(l)[c] = x.row(l)[c] + bias[c];
  }
  return out;
}

Buffer ScaleExpertColumns(Arena& arena, View x, View scales, const Routing& routing) {
  Buffer out = arena.Allocate(x.rows, x.cols);
  for (int64_t l = 0; l < x.rows; ++l) {
    const float* of_expert = scales.data + routing.experts[l] * x.cols;
    for (int64_t c = 0; c < x.cols; ++c) out.row(l)[c] = x.row(l)[c] * of_expert[c];
  }
  return out;
}

Buffer Combine(Arena& arena, View x, const Routing& routing) {
  Buffer out = arena.Allocate(routing.rows, x.cols);
  for (int64_t r = 0; r < routing.rows; ++r) {
    std::fill_n(out.row(r), x.cols, 0.0f);
    for (int64_t l = r * routing.used; l < (r + 1) * routing.used; ++l) {
      for (int64_t c = 0; c < x.cols; ++c) out.row(r)[c] += routing.weights[l] * x.row(l)[c];
    }
  }
  return out;
}

Buffer GateRows(Arena& arena, View x, View logits) {
  Buffer out = arena.Allocate(x.rows, x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    const float factor = 1.0f / (1.0f + std::exp(-logits.row(r)[0]));
    for (int64_t c = 0; c < x.cols; ++c) out.row(r)[c] = x.row(r)[c] * factor;
  }
  return out;
}

}  // namespace inferflux::compute::host
