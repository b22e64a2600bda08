#include "engine/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace inferflux::engine {

void SelectTop(std::span<const float> logits, size_t k, std::vector<Candidate>& top) {
  // Collects up to 2k tokens, then drops the worse half and takes the lowest kept logit as the threshold: few tokens
  // pass it.
  top.clear();
  float bar = -std::numeric_limits<float>::infinity();
  const auto halve = [&] {
    std::nth_element(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(k), top.end());
    top.resize(k);
    bar = std::max_element(top.begin(), top.end())->logit;  // the last in the order: the lowest logit
  };
  for (size_t id = 0; id < logits.size(); ++id) {
    if (!(logits[id] > bar)) continue;  // an equal one has a higher id, so it comes later in the order
    top.push_back({.logit = logits[id], .id = static_cast<TokenId>(id)});
    if (top.size() == 2 * k) halve();
  }
  if (top.size() > k) halve();
  std::sort(top.begin(), top.end());
}

void Candidates::GatherAll(std::span<const float> logits, std::span<const float> weights, float least, double total) {
  candidates_.clear();
  sorted_ = 0;
  total_ = total;
  for (size_t id = 0; id < weights.size(); ++id) {
    if (weights[id] > 0.0f && weights[id] >= least) {
      candidates_.push_back({.logit = logits[id], .weight = weights[id], .id = static_cast<TokenId>(id)});
    }
  }
}

void Candidates::GatherTop(std::span<const float> logits, std::span<const float> weights, size_t k) {
  SelectTop(logits, k, candidates_);
  for (auto& candidate : candidates_) candidate.weight = weights[static_cast<size_t>(candidate.id)];
  std::erase_if(candidates_, [](const Candidate& candidate) { return !(candidate.weight > 0.0f); });
  sorted_ = candidates_.size();
  Weigh();
}

void Candidates::Weigh() {
  total_ = 0.0;
  for (const auto& candidate : candidates_) total_ += candidate.weight;
}

void Candidates::SortHead(size_t count) {
  count = std::min(count, candidates_.size());
  if (count <= sorted_) return;
  const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(count);
  if (end != candidates_.end()) std::nth_element(begin, end, candidates_.end());
  std::sort(begin, end);
  sorted_ = count;
}

void Candidates::Cut(size_t count) {
  candidates_.resize(count);
  sorted_ = std::min(sorted_, count);
}

void Candidates::KeepTopP(double p) {
  double reached = 0.0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (i == sorted_) SortHead(std::max<size_t>(64, 4 * i));
    reached += candidates_[i].weight;
    if (reached >= p * total_) return Cut(i + 1);
  }
}

void Candidates::KeepMinP(float ratio) {
  float heaviest = 0.0f;
  for (const auto& candidate : candidates_) heaviest = std::max(heaviest, candidate.weight);
  const float least = ratio * heaviest;
  const bool in_order = sorted_ == candidates_.size();
  std::erase_if(candidates_, [least](const Candidate& candidate) { return candidate.weight < least; });
  sorted_ = in_order ? candidates_.size() : 0;
}

void Candidates::KeepTypical(double p) {
  double entropy = 0.0;
  for (const auto& c : candidates_) entropy -= c.weight / total_ * std::log(c.weight / total_);
  const auto oddity = [&](const Candidate& c) { return std::abs(-std::log(c.weight / total_) - entropy); };
  std::vector<std::pair<double, Candidate>> by_oddity;
  by_oddity.reserve(candidates_.size());
  for (const auto& candidate : candidates_) by_oddity.emplace_back(oddity(candidate), candidate);
  // Sorts only as far as the set reaches, in growing steps.
  double reached = 0.0;
  candidates_.clear();
  size_t sorted = 0;
  for (size_t i = 0; i < by_oddity.size() && reached < p * total_; ++i) {
    if (i == sorted) {
      const auto begin = by_oddity.begin() + static_cast<std::ptrdiff_t>(sorted);
      sorted = std::min(by_oddity.size(), std::max<size_t>(256, 4 * sorted));
      const auto end = by_oddity.begin() + static_cast<std::ptrdiff_t>(sorted);
      if (end != by_oddity.end()) std::nth_element(begin, end, by_oddity.end());
      std::sort(begin, end);
    }
    candidates_.push_back(by_oddity[i].second);
    reached += by_oddity[i].second.weight;
  }
  if (candidates_.empty()) candidates_.push_back(std::min_element(by_oddity.begin(), by_oddity.end())->second);
  sorted_ = 0;
  Weigh();
}

void Candidates::DropTopChoices(double probability) {
  Weigh();
  const auto above = std::count_if(candidates_.begin(), candidates_.end(),
                                   [&](const Candidate& c) { return c.weight >= probability * total_; });
  if (above < 2) return;
  SortHead(static_cast<size_t>(above));
  candidates_.erase(candidates_.begin(), candidates_.begin() + (above - 1));
  sorted_ = 1;
}

void Candidates::KeepSurpriseBelow(double bits) {
  const auto likeliest = *std::min_element(candidates_.begin(), candidates_.end());
  const double least = std::exp2(-bits) * total_;
  std::erase_if(candidates_, [least](const Candidate& c) { return c.weight < least; });
  if (candidates_.empty()) candidates_.push_back(likeliest);
  sorted_ = 0;
}

const Candidate& Candidates::Draw(double uniform) const {
  double total = 0.0;
  for (const auto& candidate : candidates_) total += candidate.weight;
  double left = uniform * total;
  for (const auto& candidate : candidates_) {
    left -= candidate.weight;
    if (left < 0.0) return candidate;
  }
  return candidates_.back();  // rounding at the end of the range
}

double Candidates::Surprise(const Candidate& candidate) const {
  double total = 0.0;
  for (const auto& other : candidates_) total += other.weight;
  return std::log2(total / candidate.weight);
}

}  // namespace inferflux::engine
