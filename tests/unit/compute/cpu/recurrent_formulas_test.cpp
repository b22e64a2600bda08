// The gated delta rule and the short convolution by their formulas, in doubles.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compute/cpu/cpu_test.h"
#include "compute/host/copies.h"

namespace inferflux::compute::testing {
namespace {

class CpuRecurrentFormulasTest : public CpuTest {
 protected:
  std::vector<double> Normed(const float* x, int32_t size, double length) const {
    double squares = 1e-6;
    for (int32_t i = 0; i < size; ++i) squares += double{x[i]} * x[i];
    std::vector<double> out;
    for (int32_t i = 0; i < size; ++i) out.push_back(x[i] * length / std::sqrt(squares));
    return out;
  }
};

TEST_P(CpuRecurrentFormulasTest, OfTheGatedDeltaRule) {
  constexpr int32_t kRows = 6;
  for (const bool repeat : {false, true}) {
    const DeltaNetParams params{.key_heads = 2, .value_heads = 4, .key_dim = 5, .value_dim = 3, .keys_repeat = repeat};
    host::Buffer qkv = Random(kRows, 2 * params.keys() + params.values());
    std::fill_n(qkv.row(2), params.keys(), 1e-4f);  // queries whose length the least squares decide
    const auto b = Random(kRows, 4), a = Random(kRows, 4), steps = Random(1, 4);
    host::Buffer coefficients = Random(1, 4);
    for (int i = 0; i < 4; ++i) coefficients.row(0)[i] = -std::abs(coefficients.row(0)[i]);
    const StepGeometry batch{.query_starts = {0, kRows}, .states = {{.to = 0}}};
    auto states = *host::CreateStates({.layers = {4 * 5 * 3}, .slots = 1});
    const auto out = Cpu::GatedDelta(cpu, qkv, b, a, steps, coefficients, states, 0, batch, params);
    for (int32_t head = 0; head < 4; ++head) {
      std::vector<double> state(15, 0.0);
      const int32_t key_head = repeat ? head % 2 : head / 2;
      for (int32_t row = 0; row < kRows; ++row) {
        const float* x = host::View(qkv).row(row);
        const auto q = Normed(x + key_head * 5, 5, 1 / std::sqrt(5.0));
        const auto k = Normed(x + params.keys() + key_head * 5, 5, 1.0);
        const float* v = x + 2 * params.keys() + head * 3;
        const double step = std::log1p(std::exp(double{host::View(a).row(row)[head]} + host::View(steps).data[head]));
        const double decay = std::exp(host::View(coefficients).data[head] * step);
        const double rate = 1 / (1 + std::exp(-double{host::View(b).row(row)[head]}));
        for (double& s : state) s *= decay;
        for (int32_t c = 0; c < 3; ++c) {
          double known = 0.0, y = 0.0;
          for (int32_t i = 0; i < 5; ++i) known += k[i] * state[i * 3 + c];
          for (int32_t i = 0; i < 5; ++i) y += q[i] * (state[i * 3 + c] += k[i] * (v[c] - known) * rate);
          EXPECT_NEAR(host::View(out).row(row)[head * 3 + c], y, 2e-6) << "head " << head << ", row " << row;
        }
      }
      for (size_t i = 0; i < state.size(); ++i)
        EXPECT_NEAR(states.Part(0, 0)[static_cast<size_t>(head) * 15 + i], state[i], 2e-6);
    }
  }
}

TEST_P(CpuRecurrentFormulasTest, OfTheShortConvolution) {
  // Three taps of two columns over the rows 1, 2, ..., and over zeros or a state before them.
  const std::vector<float> taps{1, 10, 2, 20, 3, 30}, rows{1, 5, 2, 6, 3, 7, 4, 8};
  const host::View x{rows.data(), 4, 2, 2}, weights{taps.data(), 1, 6, 6};
  auto states = *host::CreateStates({.layers = {4}, .slots = 4});
  std::copy_n(std::vector<float>{-1, -2, -3, -4}.begin(), 4, states.Part(0, 3).begin());
  const StepGeometry batch{
      .query_starts = {0, 3, 4}, .states = {{.to = 0}, {.from = 3, .to = 1}}, .state_marks = {{0, 2}}};
  const auto out = host::Read(Cpu::ShortConv(cpu, x, weights, states, 0, batch));
  EXPECT_EQ(out, (std::vector<float>{3, 150, 8, 280, 14, 380, 5, 140}));
  const auto part = [&](int32_t slot) {
    const auto span = states.Part(0, slot);
    return std::vector<float>(span.begin(), span.end());
  };
  EXPECT_EQ(part(0), (std::vector<float>{2, 6, 3, 7}));
  EXPECT_EQ(part(1), (std::vector<float>{-3, -4, 4, 8}));
  EXPECT_EQ(part(2), (std::vector<float>{0, 0, 1, 5}));
}

TEST_P(CpuRecurrentFormulasTest, ProductsAreOfEachColumn) {
  for (const int64_t width : {1, 17, 40}) {
    const auto a = Random(3, width), b = Random(3, width);
    const auto product = Cpu::Multiply(cpu, a, b);
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < width; ++c)
        EXPECT_EQ(host::View(product).row(r)[c], host::View(a).row(r)[c] * host::View(b).row(r)[c]);
    }
  }
}

INFERFLUX_CPU_TESTS(CpuRecurrentFormulasTest);

}  // namespace
}  // namespace inferflux::compute::testing
