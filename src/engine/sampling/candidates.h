// The tokens that may still be drawn, likeliest first. Most filters keep a head of that order, so only the head is ever
// sorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace inferflux::engine {

struct Candidate {
  float logit = 0.0f;
  float weight = 0.0f;  // proportional to the probability
  TokenId id = 0;

  // Likelier first; of equals the lower id.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
};

class Candidates {
 public:
  // All tokens with a weight of at least `least`; those of weight 0 never. `total`: the sum of all weights.
  void GatherAll(std::span<const float> logits, std::span<const float> weights, float least, double total);
  // The k likeliest, with a weight above 0. k > 0.
  void GatherTop(std::span<const float> logits, std::span<const float> weights, size_t k);

  // Keeps the smallest head whose weight reaches p of the total.
  void KeepTopP(double p);
  // Keeps the smallest set that reaches p of the total, of those whose surprise is closest to the entropy.
  void KeepTypical(double p);
  // Keeps what weighs at least `ratio` times as much as the first.
  void KeepMinP(float ratio);

  // Where two or more have at least this probability, drops all of them but the least likely.
  void DropTopChoices(double probability);
  // Keeps those whose surprise is at most so many bits, and the likeliest in any case.
  void KeepSurpriseBelow(double bits);

  // The one that `uniform` in [0, 1) falls on. There must be one.
  const Candidate& Draw(double uniform) const;
  // -log2 of its probability among these.
  double Surprise(const Candidate& candidate) const;

  std::span<const Candidate> all() const { return candidates_; }

 private:
  void SortHead(size_t count);
  void Cut(size_t count);
  void Weigh();

  std::vector<Candidate> candidates_;
  size_t sorted_ = 0;   // the first so many are in order, and before all others
  double total_ = 0.0;  // what a share is taken of: the weight of all, or of what a filter left
};

// The k highest logits (all where there are fewer), in order. Weights are left 0.
void SelectTop(std::span<const float> logits, size_t k, std::vector<Candidate>& top);

}  // namespace inferflux::engine
