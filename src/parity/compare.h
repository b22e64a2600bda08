// How much the answers of two engines differ.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "parity/check.h"

namespace inferflux::parity {

// |a - b| / |b|; infinite if the sizes differ or a number is NaN.
double RelativeError(std::span<const float> actual, std::span<const float> expected);

// Compares each position from `first` on with the oracle's. The finding reports the worst position.
Finding CompareLogits(const std::vector<std::vector<float>>& actual, const Oracle& oracle, size_t first, double bound);

// Natural logs of the softmax.
std::vector<double> LogSoftmax(std::span<const float> logits);

// Compares greedy tokens with the oracle's answers. Where they differ, the oracle's two best logits must be a near tie.
// What follows is another text and is not compared.
class GreedyComparison {
 public:
  explicit GreedyComparison(double tie) : tie_(tie) {}
  void Add(const Answer& expected, std::span<const TokenId> actual);
  Finding finding() const;

 private:
  double tie_;
  int64_t positions_ = 0;
  int64_t ties_ = 0;
  std::string difference_;  // the first position that is not a near tie
};

}  // namespace inferflux::parity
