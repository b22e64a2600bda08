#include <algorithm>
#include <cmath>

#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/ops/row_ops.h"

namespace inferflux::compute {
namespace {

// The sum of f over a row, with partial sums in an order that depends on the row's width alone.
template <class F>
float PartialSums(const float* x, int64_t n, F f) {
  constexpr int64_t kSums = 16;
  float sums[kSums] = {};
  int64_t c = 0;
  for (; c + kSums <= n; c += kSums) {
    for (int64_t i = 0; i < kSums; ++i) sums[i] += f(x[c + i]);
  }
  for (int64_t i = 0; c + i < n; ++i) sums[i] += f(x[c + i]);
  float total = 0.0f;
  for (const float sum : sums) total += sum;
  return total;
}

float StreamMeanSquare(const float* x, int64_t n) {
  return PartialSums(x, n, [](float v) { return v * v; }) / static_cast<float>(n);
}

}  // namespace

host::Buffer Cpu::MixStreams(Context& context, View x, View factors, int32_t inputs) {
  const int64_t width = x.cols / inputs, outputs = factors.cols / inputs;
  Buffer out = context.arena.Allocate(x.rows, outputs * width);
  cpu::ForRows(context, x.rows, outputs * x.cols, [&](int64_t r) {
    const float* factor = factors.row(factors.rows == 1 ? 0 : r);
    for (int64_t o = 0; o < outputs; ++o) {
      float* to = out.row(r) + o * width;
      std::fill_n(to, width, 0.0f);
      for (int64_t i = 0; i < inputs; ++i, ++factor) {
        const float* from = x.row(r) + i * width;
        for (int64_t c = 0; c < width; ++c) to[c] += *factor * from[c];
      }
    }
  });
  return out;
}

host::Buffer Cpu::MatchMagnitudes(Context& context, View x, View like) {
  return cpu::MapRows(context, x, [&](int64_t r, float* out) {
    const float wanted = StreamMeanSquare(like.row(r), like.cols);
    for (int64_t first = 0; first < x.cols; first += like.cols) {
      const float own = std::max(StreamMeanSquare(x.row(r) + first, like.cols), kLeastMeanSquare);
      context.kernels.scale(x.row(r) + first, std::sqrt(wanted / own), out + first, like.cols);
    }
  });
}

host::Buffer Cpu::CutRows(Context& context, View x, float deviations) {
  return cpu::MapRows(context, x, [&](int64_t r, float* out) {
    const auto n = static_cast<float>(x.cols);
    const float mean = PartialSums(x.row(r), x.cols, [](float v) { return v; }) / n;
    const float variance = PartialSums(x.row(r), x.cols, [=](float v) { return (v - mean) * (v - mean); }) / n;
    const float cut = mean + deviations * std::sqrt(variance);
    for (int64_t c = 0; c < x.cols; ++c) out[c] = std::max(x.row(r)[c] - cut, 0.0f);
  });
}

}  // namespace inferflux::compute
