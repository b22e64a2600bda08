// How far two engines' answers are apart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "parity/check.h"

namespace inferflux::parity {

// |a - b| / |b|; infinite where the sizes differ or a number is none.
double RelativeError(std::span<const float> actual, std::span<const float> expected);

// Compares each position with the oracle's from `first` on. The finding gives the worst one.
Finding CompareLogits(const std::vector<std::vector<float>>& actual, const Oracle& oracle, size_t first, double bound);

// Natural logs of the softmax.
std::vector<double> LogSoftmax(std::span<const float> logits);

// Greedy tokens against the oracle's answers. Where they part, the oracle's two best logits must be a near tie; what
// comes after is another text, and is not compared.
class GreedyComparison {
 public:
  explicit GreedyComparison(double tie) : tie_(tie) {}
  void Add(const Answer& expected, std::span<const TokenId> actual);
  Finding finding() const;

 private:
  double tie_;
  int64_t positions_ = 0;
  int64_t ties_ = 0;
  std::string difference_;  // the first that is no tie
};

}  // namespace inferflux::parity
