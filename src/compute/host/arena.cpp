#include "compute/host/arena.h"

#include <new>

namespace inferflux::compute::host {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kSmallest = 4096;

// Rows whose distance is a multiple of a page share a few sets of every cache, so that writing one line in each of them
// evicts the others. Such rows get one more cache line between them.
int64_t StrideOf(int64_t rows, int64_t cols) {
  constexpr int64_t kPageFloats = 1024;
  return rows > 1 && cols % kPageFloats == 0 ? cols + 16 : cols;
}

}  // namespace

Arena::~Arena() {
  for (auto& pieces : free_) {
    for (float* piece : pieces) ::operator delete(piece, kAlignment);
  }
}

Buffer Arena::Allocate(int64_t rows, int64_t cols) {
  const int64_t stride = StrideOf(rows, cols);
  const SizeClass size(static_cast<size_t>(rows * stride) * sizeof(float), kSmallest);
  auto& pieces = free_[size.number];
  float* data = nullptr;
  if (pieces.empty()) {
    data = static_cast<float*>(::operator new(size.bytes, kAlignment));
    bytes_ += size.bytes;
  } else {
    data = pieces.back();
    pieces.pop_back();
  }
  Buffer out;
  out.data_ = {data, ArenaRelease{this, size.bytes}};
  out.rows_ = rows;
  out.cols_ = cols;
  out.stride_ = stride;
  return out;
}

void Arena::Recycle(float* data, size_t bytes) { free_[SizeClass(bytes, kSmallest).number].push_back(data); }

void ArenaRelease::operator()(float* data) const { arena->Recycle(data, bytes); }

}  // namespace inferflux::compute::host
