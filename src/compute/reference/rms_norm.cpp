#include <cmath>

#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::RmsNorm(Context& context, View x, View weight, float epsilon) {
  Buffer out = context.arena.Allocate(x.rows, x.cols);
  const int64_t width = weight.cols;
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t first = 0; first < x.cols; first += width) {
      const float* in = x.row(r) + first;
      double squares = 0.0;
      for (int64_t c = 0; c < width; ++c) squares += double{in[c]} * in[c];
      const auto inverse = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(width) + epsilon));
      for (int64_t c = 0; c < width; ++c) out.row(r)[first + c] = in[c] * inverse * weight.data[c];
    }
  }
  return out;
}

}  // namespace inferflux::compute
