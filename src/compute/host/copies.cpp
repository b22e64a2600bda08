#include "compute/host/copies.h"

#include <algorithm>

namespace inferflux::compute::host {

Buffer CopyIn(Arena& arena, std::span<const float> values) {
  Buffer out = arena.Allocate(1, static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), out.row(0));
  return out;
}

Buffer GatherRows(Arena& arena, View x, std::span<const int32_t> rows) {
  Buffer out = arena.Allocate(static_cast<int64_t>(rows.size()), x.cols);
  for (int64_t i = 0; i < out.rows(); ++i) std::copy_n(x.row(rows[i]), x.cols, out.row(i));
  return out;
}

std::vector<float> Read(View x) {
  std::vector<float> out(static_cast<size_t>(x.rows * x.cols));
  for (int64_t r = 0; r < x.rows; ++r) std::copy_n(x.row(r), x.cols, out.data() + r * x.cols);
  return out;
}

}  // namespace inferflux::compute::host
