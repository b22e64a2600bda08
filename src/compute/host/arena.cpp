#include "compute/host/arena.h"

#include <algorithm>
#include <bit>
#include <new>

namespace inferflux::compute::host {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kSmallest = 4096;

}  // namespace

Arena::~Arena() {
  for (auto& pieces : free_) {
    for (float* piece : pieces) ::operator delete(piece, kAlignment);
  }
}

Buffer Arena::Allocate(int64_t rows, int64_t cols) {
  const size_t bytes = std::bit_ceil(std::max(kSmallest, static_cast<size_t>(rows * cols) * sizeof(float)));
  auto& pieces = free_[std::countr_zero(bytes)];
  float* data = nullptr;
  if (pieces.empty()) {
    data = static_cast<float*>(::operator new(bytes, kAlignment));
    bytes_ += bytes;
  } else {
    data = pieces.back();
    pieces.pop_back();
  }
  Buffer out;
  out.data_ = {data, ArenaRelease{this, bytes}};
  out.rows_ = rows;
  out.cols_ = cols;
  return out;
}

void Arena::Recycle(float* data, size_t bytes) { free_[std::countr_zero(bytes)].push_back(data); }

void ArenaRelease::operator()(float* data) const { arena->Recycle(data, bytes); }

}  // namespace inferflux::compute::host
