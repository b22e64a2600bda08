#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::MatMul(Context& context, View x, const Matrix& matrix) {
  Buffer out = context.arena.Allocate(x.rows, matrix.rows);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t o = 0; o < matrix.rows; ++o) {
      const float* weights = matrix.values.data() + o * matrix.cols;
      double sum = 0.0;
      for (int64_t c = 0; c < matrix.cols; ++c) sum += double{x.row(r)[c]} * weights[c];
      out.row(r)[o] = static_cast<float>(sum);
    }
  }
  return out;
}

}  // namespace inferflux::compute
