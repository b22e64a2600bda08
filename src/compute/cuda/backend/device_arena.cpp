#include "compute/cuda/backend/device_arena.h"

namespace inferflux::cuda {
namespace {

using compute::SizeClass;

constexpr size_t kSmallest = 1024;

}  // namespace

DeviceArena::~DeviceArena() { FreeUnused(); }

Result<ArenaPiece> DeviceArena::Allocate(size_t bytes) {
  const SizeClass size(bytes, kSmallest);
  auto& pieces = free_[size.number];
  if (!pieces.empty()) {
    ArenaPiece piece{pieces.back(), ArenaRelease{this, size.bytes}};
    pieces.pop_back();
    return piece;
  }
  auto at = runtime_.Allocate(size.bytes);
  const bool frees = unused_ == Unused::kFreeWhereMemoryIsShort;
  if (!at && frees && at.error().code == ErrorCode::kResourceExhausted) {
    FreeUnused();
    if (neighbour_ != nullptr) neighbour_->FreeUnused();
    at = runtime_.Allocate(size.bytes);
  }
  if (!at) return Forward(at, fmt::format("{} bytes for a step's activations", size.bytes));
  bytes_ += size.bytes;
  if (!frees) made_.push_back({*at, size.number});
  return ArenaPiece{*at, ArenaRelease{this, size.bytes}};
}

void DeviceArena::Recycle(void* at, size_t bytes) { free_[SizeClass(bytes, kSmallest).number].push_back(at); }

void DeviceArena::FreeUnused() {
  for (size_t number = 0; number < free_.size(); ++number) {
    for (void* at : free_[number]) {
      (void)runtime_.Free(at);  // fails where the device has failed: its memory is gone with it
      bytes_ -= SizeClass::BytesOf(number);
    }
    free_[number].clear();
  }
}

void DeviceArena::FreeAfter(size_t pieces) {
  for (; made_.size() > pieces; made_.pop_back()) {
    const Made& last = made_.back();
    std::erase(free_[last.number], last.at);
    (void)runtime_.Free(last.at);  // as above
    bytes_ -= SizeClass::BytesOf(last.number);
  }
}

void ArenaRelease::operator()(void* at) const {
  if (arena != nullptr) arena->Recycle(at, bytes);
}

}  // namespace inferflux::cuda
