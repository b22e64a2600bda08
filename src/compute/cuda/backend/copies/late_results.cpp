#include "compute/cuda/backend/copies/late_results.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace inferflux::cuda {

LateCopy::LateCopy(LateCopy&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), place_(other.place_), bytes_(other.bytes_) {}

LateCopy& LateCopy::operator=(LateCopy&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(place_, other.place_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

// An error is that of a device that has failed: nothing writes to the memory any more.
LateCopy::~LateCopy() {
  if (pool_ == nullptr) return;
  (void)pool_->runtime_.Synchronize(place_.done);
  pool_->GiveBack(place_);
}

Status LateCopy::Finish(void* to) {
  if (pool_ == nullptr) return Fail(ErrorCode::kInvalidArgument, "no copy is on its way");
  LateResults& pool = *std::exchange(pool_, nullptr);
  Status done = pool.runtime_.Synchronize(place_.done);
  if (done) std::memcpy(to, place_.memory, bytes_);
  pool.GiveBack(place_);
  return done;
}

LateResults::~LateResults() {
  for (const LateCopy::Place& place : free_) Free(place);
}

Result<LateCopy> LateResults::Begin(const void* from, size_t bytes, Stream stream) {
  auto place = Take(bytes);
  if (!place) return Forward(place);
  Status begun = runtime_.CopyToHost(place->memory, from, bytes, stream);
  if (begun) begun = runtime_.Record(place->done, stream);
  if (!begun) {  // the copy may be on the stream, and there is no event that shows its end
    (void)runtime_.Synchronize(stream);
    GiveBack(*place);
    return Forward(begun);
  }
  LateCopy copy;
  copy.pool_ = this;
  copy.place_ = *place;
  copy.bytes_ = bytes;
  return copy;
}

Result<LateCopy::Place> LateResults::Take(size_t bytes) {
  const auto fits = std::ranges::find_if(free_, [&](const LateCopy::Place& place) { return place.capacity >= bytes; });
  if (fits != free_.end()) {
    const LateCopy::Place place = *fits;
    free_.erase(fits);
    return place;
  }
  LateCopy::Place place{.capacity = std::bit_ceil(std::max(bytes, kLeast))};
  auto memory = runtime_.AllocatePinned(place.capacity);
  if (!memory) return Forward(memory, "pinned memory for results");
  place.memory = *memory;
  auto event = runtime_.CreateEvent();
  if (!event) {
    (void)runtime_.FreePinned(place.memory);
    return Forward(event);
  }
  place.done = *event;
  return place;
}

void LateResults::GiveBack(const LateCopy::Place& place) {
  if (place.capacity > kKept) return Free(place);
  free_.push_back(place);
}

// Errors are those of a device that has failed, whose memory is gone with it.
void LateResults::Free(const LateCopy::Place& place) {
  (void)runtime_.FreePinned(place.memory);
  (void)runtime_.Destroy(place.done);
}

}  // namespace inferflux::cuda
