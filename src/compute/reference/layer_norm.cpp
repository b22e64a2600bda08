#include <cmath>

#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::LayerNorm(Context& context, View x, View weight, View bias, float epsilon) {
  Buffer out = context.arena.Allocate(x.rows, x.cols);
  const auto width = static_cast<double>(x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* in = x.row(r);
    double sum = 0.0;
    for (int64_t c = 0; c < x.cols; ++c) sum += in[c];
    const double mean = sum / width;
    double squares = 0.0;
    for (int64_t c = 0; c < x.cols; ++c) squares += (in[c] - mean) * (in[c] - mean);
    const double inverse = 1.0 / std::sqrt(squares / width + epsilon);
    for (int64_t c = 0; c < x.cols; ++c) {
      out.row(r)[c] = static_cast<float>((in[c] - mean) * inverse) * weight.data[c] + bias.data[c];
    }
  }
  return out;
}

}  // namespace inferflux::compute
