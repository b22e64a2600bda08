#include <algorithm>
#include <cmath>

#include "compute/reference/reference_backend.h"

namespace inferflux::compute {
namespace {

double MeanSquare(const float* x, int64_t n) {
  double sum = 0.0;
  for (int64_t c = 0; c < n; ++c) sum += double{x[c]} * x[c];
  return sum / static_cast<double>(n);
}

}  // namespace

host::Buffer Reference::MixStreams(Context& context, View x, View factors, int32_t inputs) {
  const int64_t width = x.cols / inputs, outputs = factors.cols / inputs;
  Buffer out = context.arena.Allocate(x.rows, outputs * width);
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* of_row = factors.row(factors.rows == 1 ? 0 : r);
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t c = 0; c < width; ++c) {
        double sum = 0.0;
        for (int64_t i = 0; i < inputs; ++i) sum += double{of_row[o * inputs + i]} * x.row(r)[i * width + c];
        out.row(r)[o * width + c] = static_cast<float>(sum);
      }
    }
  }
  return out;
}

host::Buffer Reference::MatchMagnitudes(Context& context, View x, View like) {
  Buffer out = context.arena.Allocate(x.rows, x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    const double wanted = std::sqrt(MeanSquare(like.row(r), like.cols));
    for (int64_t first = 0; first < x.cols; first += like.cols) {
      const double own = std::sqrt(std::max(MeanSquare(x.row(r) + first, like.cols), double{kLeastMeanSquare}));
      for (int64_t c = first; c < first + like.cols; ++c)
        out.row(r)[c] = static_cast<float>(x.row(r)[c] * wanted / own);
    }
  }
  return out;
}

host::Buffer Reference::CutRows(Context& context, View x, float deviations) {
  Buffer out = context.arena.Allocate(x.rows, x.cols);
  const auto n = static_cast<double>(x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    double sum = 0.0, squares = 0.0;
    for (int64_t c = 0; c < x.cols; ++c) sum += x.row(r)[c];
    for (int64_t c = 0; c < x.cols; ++c) squares += (x.row(r)[c] - sum / n) * (x.row(r)[c] - sum / n);
    const double cut = sum / n + deviations * std::sqrt(squares / n);
    for (int64_t c = 0; c < x.cols; ++c) out.row(r)[c] = static_cast<float>(std::max(x.row(r)[c] - cut, 0.0));
  }
  return out;
}

}  // namespace inferflux::compute
