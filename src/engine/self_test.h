// The small computation that tells a device that computes from one that does not: a product of small integers, which is
// exact in every type of numbers that devices multiply in.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"

namespace inferflux::engine {

struct SelfTestProduct {
  static constexpr size_t kSize = 64;

  std::array<float, kSize * kSize> weights{};  // [output][input]
  std::array<float, kSize> input{};

  constexpr SelfTestProduct() {
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>((i * 7 + i / kSize) % 5) - 2;
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 3) - 1;
  }

  // Compares what a device computed. `device` names it in the error.
  Status Check(std::span<const float> outputs, std::string_view device) const {
    for (size_t row = 0; row < kSize; ++row) {
      float right = 0;
      for (size_t i = 0; i < kSize; ++i) right += weights[row * kSize + i] * input[i];
      if (row < outputs.size() && outputs[row] == right) continue;
      return Fail(ErrorCode::kInternal, "{} computed {} where {} is right: the device or its driver is broken", device,
                  row < outputs.size() ? outputs[row] : 0.0f, right);
    }
    return {};
  }
};

}  // namespace inferflux::engine
