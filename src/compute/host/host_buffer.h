// Float matrices in host memory, shared by the backends that compute there.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace inferflux::compute::host {

class Arena;

// A read-only [rows, cols] window; row r begins at data + r * stride.
struct View {
  const float* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  const float* row(int64_t r) const { return data + r * stride; }
};

struct ArenaRelease {
  Arena* arena = nullptr;
  size_t bytes = 0;
  void operator()(float* data) const;
};

// An owned [rows, cols] matrix, each row 64-byte aligned if cols is a multiple of 16. Its memory returns to the arena
// that it came from.
class Buffer {
 public:
  Buffer() = default;

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  int64_t stride() const { return stride_; }
  float* row(int64_t r) { return data_.get() + r * stride_; }

  operator View() const { return {data_.get(), rows_, cols_, stride_}; }  // NOLINT: a buffer is a view of itself

 private:
  friend class Arena;

  std::unique_ptr<float[], ArenaRelease> data_;
  int64_t rows_ = 0;
  int64_t cols_ = 0;
  int64_t stride_ = 0;
};

inline View Columns(View view, int64_t first, int64_t count) {
  assert(first >= 0 && count >= 0 && first + count <= view.cols);
  return {view.data + first, view.rows, count, view.stride};
}

}  // namespace inferflux::compute::host
