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
  if (!at && at.error().code == ErrorCode::kResourceExhausted) {
    FreeUnused();
    at = runtime_.Allocate(size.bytes);
  }
  if (!at) return Forward(at, fmt::format("{} bytes for a step's activations", size.bytes));
  bytes_ += size.bytes;
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

void ArenaRelease::operator()(void* at) const { arena->Recycle(at, bytes); }

}  // namespace inferflux::cuda
