// Operations on rows of floats, with Google Highway for the instruction set that this file is compiled for. Lanes are
// filled by index, so a row's result depends only on the row.
#pragma once

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <limits>

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using FloatVector = hn::Vec<hn::ScalableTag<float>>;

// out[i] = f(inputs[i]...); inputs past n are read as zero, and outputs past n are not written.
template <class F, class... In>
inline void Map(float* out, int64_t n, F f, const In*... in) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, in + i)...), d, out + i);
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
    hn::BlendedStore(f(hn::MaskedLoad(mask, d, in + i)...), mask, d, out + i);
  }
}

inline void AddRow(const float* a, const float* b, float* out, int64_t n) {
  Map(
      out, n, [](auto x, auto y) { return hn::Add(x, y); }, a, b);
}

inline void ScaleRow(const float* x, float factor, float* out, int64_t n) {
  const auto by = hn::Set(hn::ScalableTag<float>(), factor);
  Map(
      out, n, [=](auto v) { return hn::Mul(v, by); }, x);
}

// Sum of f(x[i]), with one partial sum per lane.
template <class F>
inline float Sum(const float* x, int64_t n, F f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, f(hn::LoadU(d, x + i)));
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
    sum = hn::Add(sum, hn::IfThenElseZero(mask, f(hn::MaskedLoad(mask, d, x + i))));
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

inline void RmsNormRow(const float* x, const float* weight, float epsilon, float* out, int64_t n) {
  const float mean = Sum(x, n, [](auto v) { return hn::Mul(v, v); }) / static_cast<float>(n);
  const auto inverse = hn::Set(hn::ScalableTag<float>(), 1.0f / std::sqrt(mean + epsilon));
  Map(
      out, n, [=](auto v, auto w) { return hn::Mul(hn::Mul(v, inverse), w); }, x, weight);
}

inline void LayerNormRow(const float* x, const float* weight, const float* bias, float epsilon, float* out, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto size = static_cast<float>(n);
  const auto mean = hn::Set(d, Sum(x, n, [](auto v) { return v; }) / size);
  const auto square = [=](auto v) { return hn::Mul(hn::Sub(v, mean), hn::Sub(v, mean)); };
  const auto inverse = hn::Set(d, 1.0f / std::sqrt(Sum(x, n, square) / size + epsilon));
  const auto f = [=](auto v, auto w, auto b) { return hn::MulAdd(hn::Mul(hn::Sub(v, mean), inverse), w, b); };
  Map(out, n, f, x, weight, bias);
}

// e^x for x <= 0, to 1 unit in the last place; x below -86 is treated as -86. Half the operations of Highway's, which
// covers more cases: x = n log(2) + rest (Cody and Waite, Software Manual for the Elementary Functions, 1980), and a
// polynomial for e^rest, fitted for the lowest maximum relative error.
inline FloatVector ExpUpTo0(FloatVector x) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  x = hn::Max(hn::Set(d, -86.0f), x);           // in this order: keeps NaN
  const auto to_whole = hn::Set(d, 0x1.8p23f);  // n + this has n in its lowest bits
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), to_whole);
  const auto n = hn::Sub(shifted, to_whole);
  auto rest = hn::NegMulAdd(n, hn::Set(d, 0x1.62e4p-1f), x);  // log(2): a part that n multiplies exactly, and the rest
  rest = hn::NegMulAdd(n, hn::Set(d, 0x1.7f7d1cp-20f), rest);
  auto sum = hn::Set(d, 0.00138144742f);
  for (const float factor : {0.0083687827f, 0.0416683927f, 0.166665196f, 0.49999994f, 1.0f, 1.0f}) {
    sum = hn::MulAdd(sum, rest, hn::Set(d, factor));
  }
  return hn::BitCast(d, hn::Add(hn::BitCast(di, sum), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

// x * sigmoid(slope * x) for a positive slope.
inline FloatVector TimesSigmoid(FloatVector x, float slope) {
  const hn::ScalableTag<float> d;
  const auto one = hn::Set(d, 1.0f);
  const auto e = ExpUpTo0(hn::Mul(hn::Abs(x), hn::Set(d, -slope)));
  const auto above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, e), x);
  return hn::Div(above, hn::Add(one, e));
}

struct Silu {
  FloatVector operator()(FloatVector x) const { return TimesSigmoid(x, 1.0f); }
};

struct GeluTanh {
  FloatVector operator()(FloatVector x) const {
    const hn::ScalableTag<float> d;
    const auto cubic = hn::Mul(hn::Set(d, 0.044715f), hn::Mul(x, x));
    const auto inner = hn::Mul(hn::Set(d, 0.7978845608028654f), hn::MulAdd(cubic, x, x));  // sqrt(2 / pi)
    return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), hn::Add(hn::Set(d, 1.0f), hn::Tanh(d, inner)));
  }
};

struct Sigmoid {
  FloatVector operator()(FloatVector x) const {
    const hn::ScalableTag<float> d;
    const auto one = hn::Set(d, 1.0f);
    const auto e = ExpUpTo0(hn::Neg(hn::Abs(x)));
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  }
};

struct ReluSquared {
  FloatVector operator()(FloatVector x) const {
    const auto positive = hn::Max(x, hn::Zero(hn::ScalableTag<float>()));
    return hn::Mul(positive, positive);
  }
};

struct ExpExcess {
  FloatVector operator()(FloatVector x) const {
    const hn::ScalableTag<float> d;
    const auto below = hn::IfThenElse(hn::Ge(x, hn::Zero(d)), hn::Zero(d), x);  // keeps NaN
    const auto far = hn::Sub(hn::Sub(ExpUpTo0(below), hn::Set(d, 1.0f)), below);
    // Near 0 the difference would lose its digits: Taylor's polynomial from x^2 / 2 on.
    auto sum = hn::Set(d, 1.0f / 40320);
    for (const float factor : {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f}) {
      sum = hn::MulAdd(sum, below, hn::Set(d, factor));
    }
    return hn::IfThenElse(hn::Lt(below, hn::Set(d, -0.5f)), far, hn::Mul(sum, hn::Mul(below, below)));
  }
};

template <class F>
inline void ActivateRow(const float* x, float* out, int64_t n) {
  Map(out, n, F{}, x);
}

template <class F>
inline void GateRow(const float* gate, const float* up, float* out, int64_t n) {
  Map(
      out, n, [](auto g, auto u) { return hn::Mul(F{}(g), u); }, gate, up);
}

// Highway has no erf; the models that need it are small encoders.
inline void ActivateGeluErf(const float* x, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = 0.5f * x[i] * (1.0f + std::erf(x[i] * 0.7071067811865476f));  // 1 / sqrt(2)
}

inline void GateGeluErf(const float* gate, const float* up, float* out, int64_t n) {
  ActivateGeluErf(gate, out, n);
  for (int64_t i = 0; i < n; ++i) out[i] *= up[i];
}

inline void GateClampedSwiglu(const float* gate, const float* up, float* out, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto limit = hn::Set(d, 7.0f);
  const auto one = hn::Set(d, 1.0f);
  const auto f = [=](auto g, auto u) {
    return hn::Mul(TimesSigmoid(hn::Min(g, limit), 1.702f), hn::Add(hn::Clamp(u, hn::Neg(limit), limit), one));
  };
  Map(out, n, f, gate, up);
}

inline void SoftCapRow(const float* x, float cap, float* out, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto bound = hn::Set(d, cap);
  Map(
      out, n, [=](auto v) { return hn::Mul(bound, hn::Tanh(d, hn::Div(v, bound))); }, x);
}

// One head: out[a] = x[a] cos - x[b] sin, out[b] = x[a] sin + x[b] cos, with a = i, b = i + pairs.
inline void RopeHalves(const float* x, const float* cosines, const float* sines, int64_t pairs, float* out) {
  Map(
      out, pairs, [](auto a, auto b, auto c, auto s) { return hn::NegMulAdd(b, s, hn::Mul(a, c)); }, x, x + pairs,
      cosines, sines);
  Map(
      out + pairs, pairs, [](auto a, auto b, auto c, auto s) { return hn::MulAdd(a, s, hn::Mul(b, c)); }, x, x + pairs,
      cosines, sines);
}

// The same with a = 2i, b = 2i + 1.
inline void RopeInterleaved(const float* x, const float* cosines, const float* sines, int64_t pairs, float* out) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    FloatVector a, b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    const auto c = hn::LoadU(d, cosines + i);
    const auto s = hn::LoadU(d, sines + i);
    hn::StoreInterleaved2(hn::NegMulAdd(b, s, hn::Mul(a, c)), hn::MulAdd(a, s, hn::Mul(b, c)), d, out + 2 * i);
  }
  for (; i < pairs; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    out[2 * i] = a * cosines[i] - b * sines[i];
    out[2 * i + 1] = a * sines[i] + b * cosines[i];
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
