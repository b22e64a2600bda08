// The tokens that may still be drawn, likeliest first. Most filters keep a prefix of that order, so only the prefix is
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

  // Likelier first; the lower id first on ties.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
};

class Candidates {
 public:
  // All tokens with a weight of at least `least`, except those of weight 0. `total`: the sum of all weights.
  void GatherAll(std::span<const float> logits, std::span<const float> weights, float least, double total);
  // The k likeliest tokens with a weight above 0. k > 0.
  void GatherTop(std::span<const float> logits, std::span<const float> weights, size_t k);

  // Keeps the smallest prefix whose weight reaches p of the total.
  void KeepTopP(double p);
  // Keeps the smallest set that reaches p of the total, taking first those whose surprise is closest to the entropy.
  void KeepTypical(double p);
  // Keeps tokens that weigh at least `ratio` times as much as the first.
  void KeepMinP(float ratio);

  // If two or more have at least this probability, drops all of them except the least likely.
  void DropTopChoices(double probability);
  // Keeps tokens whose surprise is at most this many bits, and always the likeliest.
  void KeepSurpriseBelow(double bits);

  // The token that `uniform` in [0, 1) selects. There must be at least one.
  const Candidate& Draw(double uniform) const;
  // -log2 of its probability among these.
  double Surprise(const Candidate& candidate) const;

  std::span<const Candidate> all() const { return candidates_; }

 private:
  void SortHead(size_t count);
  void Cut(size_t count);
  void Weigh();

  std::vector<Candidate> candidates_;
  size_t sorted_ = 0;   // this many are sorted, and precede all others
  double total_ = 0.0;  // the total that shares refer to: the weight of all tokens, or of those that a filter kept
};

// The k highest logits (all if there are fewer), in order. Weights stay 0.
void SelectTop(std::span<const float> logits, size_t k, std::vector<Candidate>& top);

}  // namespace inferflux::engine
