#include "engine/sampling/softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace inferflux::engine {
namespace {

// exp(x) for x <= 0 without branches or calls, so that the compiler vectorises the loop around it: x = n ln 2 + r, a
// Taylor polynomial for exp(r), |r| <= ln 2 / 2, and n added to the exponent.
inline float Exp(float x) {
  constexpr float kSmallest = -87.0f;    // below it the result is subnormal: treated as 0
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, in the low bits
  const float bounded = std::max(x, kSmallest);
  const float shifted = bounded * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  const float p =
      1.0f + r * (1.0f + r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  const float power = std::bit_cast<float>((exponent + 127) << 23);
  return x < kSmallest ? 0.0f : p * power;
}

constexpr size_t kLanes = 8;

}  // namespace

void Sanitize(std::span<float> logits) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (float& logit : logits) {
    logit = logit == logit ? logit : -std::numeric_limits<float>::infinity();
    logit = logit > kLargest ? kLargest : logit;
  }
}

float Highest(std::span<const float> logits) {
  std::array<float, kLanes> highest;
  highest.fill(-std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      highest[lane] = logits[i + lane] > highest[lane] ? logits[i + lane] : highest[lane];
    }
  }
  for (; i < logits.size(); ++i) highest[0] = std::max(highest[0], logits[i]);
  return *std::ranges::max_element(highest);
}

double ExpWeights(std::span<const float> logits, float highest, float inverse_temperature, std::span<float> weights) {
  for (size_t i = 0; i < logits.size(); ++i) weights[i] = Exp((logits[i] - highest) * inverse_temperature);
  std::array<double, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= weights.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += weights[i + lane];
  }
  for (; i < weights.size(); ++i) sums[0] += weights[i];
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace inferflux::engine
