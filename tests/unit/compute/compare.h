// Distance between two results.
#pragma once

#include <cmath>
#include <cstring>

#include "compute/host/host_buffer.h"

namespace inferflux::compute::testing {

// |a - b| / |b| in the Euclidean norm.
inline double RelativeError(host::View a, host::View b) {
  if (a.rows != b.rows || a.cols != b.cols) return INFINITY;
  double difference = 0.0;
  double size = 0.0;
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < a.cols; ++c) {
      const double d = double{a.row(r)[c]} - b.row(r)[c];
      difference += d * d;
      size += double{b.row(r)[c]} * b.row(r)[c];
    }
  }
  return std::sqrt(difference / (size > 0.0 ? size : 1.0));
}

inline bool SameBits(host::View a, host::View b) {
  if (a.rows != b.rows || a.cols != b.cols) return false;
  for (int64_t r = 0; r < a.rows; ++r) {
    if (std::memcmp(a.row(r), b.row(r), static_cast<size_t>(a.cols) * sizeof(float)) != 0) return false;
  }
  return true;
}

inline host::View Rows(host::View x, int64_t first, int64_t count) { return {x.row(first), count, x.cols, x.stride}; }

}  // namespace inferflux::compute::testing
