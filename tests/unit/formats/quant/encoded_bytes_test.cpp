// The bytes of every encoder, with and without importance: a search that stops elsewhere or weighs otherwise shows here
// long before its error leaves the bounds of quantize_test.cpp. Only basic operations of IEEE 754 are in them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/quant/quantize.h"
#include "formats/tensor_type.h"

namespace inferflux::formats {
namespace {

constexpr size_t kRowWidth = 256;

// Numbers from -1 to 1, the same everywhere.
class Steps {
 public:
  explicit Steps(uint64_t seed) : state_(seed) {}
  float Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int32_t>(state_ >> 40) - (1 << 23)) * 0x1p-23f;
  }
  // Most are near 0.
  float Bell() {
    const float a = Next(), b = Next(), c = Next(), d = Next();  // in this order
    return (a + b + c) * d * 0.05f;
  }

 private:
  uint64_t state_;
};

std::vector<float> EveryKindOfRow() {
  std::vector<float> out;
  const auto add = [&](auto value) {
    for (size_t i = 0; i < kRowWidth; ++i) out.push_back(value(static_cast<int>(i)));
  };
  Steps steps(7);
  for (int i = 0; i < 24; ++i) add([&](int) { return steps.Bell(); });
  add([&](int) { return 0.25f + std::fabs(steps.Next()); });
  add([&](int) { return -0.25f - std::fabs(steps.Next()); });
  add([&](int i) { return i % 32 < 16 ? steps.Bell() : 0.0f; });
  add([](int) { return 0.0f; });
  add([](int) { return 0.75f; });
  add([](int) { return -0.75f; });
  add([&](int i) { return i % 64 == 9 ? 40.0f : steps.Bell(); });
  add([](int i) { return static_cast<float>(i % 16 - 8); });
  add([](int i) { return static_cast<float>(i) * 0x1p-8f; });
  add([&](int i) { return std::ldexp(steps.Next(), -i / 8); });
  add([&](int) { return steps.Next() > 0.0f ? 0.5f : -0.5f; });
  return out;
}

std::string HashOf(TensorType type, const std::vector<float>& values, const float* importance) {
  std::vector<std::byte> blocks(*RowBytes(type, values.size()));
  QuantizeRow(type, values.data(), importance, blocks.data(), static_cast<int64_t>(values.size()));
  uint64_t hash = 14695981039346656037u;
  for (const std::byte byte : blocks) hash = (hash ^ std::to_integer<uint64_t>(byte)) * 1099511628211u;
  return fmt::format("{:016x}", hash);
}

TEST(EncodedBytes, AreTheSameEverywhere) {
  const std::vector<float> rows = EveryKindOfRow();
  std::vector<float> importance(rows.size());
  Steps steps(11);
  for (size_t i = 0; i < importance.size(); ++i) {
    const float weight = steps.Next();
    importance[i] = i / kRowWidth % 5 == 3 && i % 64 < 32 ? 0.0f : weight * weight * weight * weight;
  }
  std::string all;
  for (const TensorTypeTraits& traits : AllTensorTypes()) {
    if (!CanQuantize(traits.type)) continue;
    all += fmt::format("{} {} {}\n", traits.name, HashOf(traits.type, rows, nullptr),
                       HashOf(traits.type, rows, importance.data()));
  }
  EXPECT_EQ(all,
            "F32 63e0b846d6814a59 63e0b846d6814a59\n"
            "F16 5988e1f951dc6ef2 5988e1f951dc6ef2\n"
            "Q4_0 d9da56d26ac94b99 02e22c66c9582798\n"
            "Q4_1 980ce3ffcd7b6f68 5c86688194c9ef34\n"
            "Q5_0 9ff0f45e69313c3c 0a93de034706ceec\n"
            "Q5_1 ee1291b141d471c9 e91a85b064138ac2\n"
            "Q8_0 3673e0b2497dfd0b 3673e0b2497dfd0b\n"
            "Q2_K 62adcc97cea1eddb 81344364e5778243\n"
            "Q3_K df5194aa4eba1ae6 8966bd9ea70346e7\n"
            "Q4_K 199e0592824a254c 86634a7227dce2d0\n"
            "Q5_K 411c5dbcc4caec78 aad5528a1c854560\n"
            "Q6_K 8fcaa1233d0a0f44 067694c21e5cd2ab\n"
            "IQ4_NL b966ec9cc106e3b7 034ba61729ebdd4e\n"
            "IQ4_XS d7cf82d1ccb21210 345634120645c86f\n"
            "BF16 718683659fcef517 718683659fcef517\n"
            "TQ1_0 c25e36aa22e3471b c25e36aa22e3471b\n"
            "TQ2_0 ffe8d4bfaf86f87e ffe8d4bfaf86f87e\n"
            "MXFP4 c6661f1854fbb65f dcb51e0659d3e6f5\n");
}

}  // namespace
}  // namespace inferflux::formats
