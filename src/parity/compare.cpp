#include "parity/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace inferflux::parity {

double RelativeError(std::span<const float> actual, std::span<const float> expected) {
  if (actual.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double difference = 0.0, norm = 0.0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double apart = double{actual[i]} - expected[i];
    difference += apart * apart;
    norm += double{expected[i]} * expected[i];
  }
  const double error = std::sqrt(difference / norm);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

Finding CompareLogits(const std::vector<std::vector<float>>& actual, const Oracle& oracle, size_t first, double bound) {
  if (first + actual.size() > oracle.logits.size() || actual.empty()) {
    return Fail(ErrorCode::kInternal, "{} rows of logits from position {}, of {}", actual.size(), first,
                oracle.logits.size());
  }
  double worst = 0.0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double error = RelativeError(actual[i], oracle.logits[first + i]);
    if (error > bound) {
      return Fail(ErrorCode::kInternal, "at position {} the logits are {:.2e} off, and {:.0e} is allowed", first + i,
                  error, bound);
    }
    worst = std::max(worst, error);
  }
  return fmt::format("{} positions, at most {:.1e} off", actual.size(), worst);
}

std::vector<double> LogSoftmax(std::span<const float> logits) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  std::vector<double> out;
  for (const float logit : logits) out.push_back(logit - highest - std::log(sum));
  return out;
}

void GreedyComparison::Add(const Answer& expected, std::span<const TokenId> actual) {
  const auto apart = std::ranges::mismatch(expected.tokens, actual);
  const auto same = static_cast<size_t>(apart.in1 - expected.tokens.begin());
  positions_ += static_cast<int64_t>(same);
  if (same == expected.tokens.size()) return;
  ++positions_;
  if (apart.in2 != actual.end() && double{expected.gaps[same]} < tie_) {
    ++ties_;
  } else if (difference_.empty()) {
    difference_ = fmt::format("after {} tokens of an answer comes {}, not {}, which is ahead by {:.3f} in logits", same,
                              apart.in2 == actual.end() ? "nothing" : std::to_string(*apart.in2), expected.tokens[same],
                              expected.gaps[same]);
  }
}

Finding GreedyComparison::finding() const {
  if (!difference_.empty()) return Fail(ErrorCode::kInternal, "{}", difference_);
  if (static_cast<double>(ties_) > kMostTies * static_cast<double>(positions_)) {
    return Fail(ErrorCode::kInternal, "{} near ties in {} positions: more than {:.0f}%", ties_, positions_,
                100 * kMostTies);
  }
  return fmt::format("{} positions, {} near ties", positions_, ties_);
}

}  // namespace inferflux::parity
