#include "compute/cuda/backend/copies/staging.h"

#include <algorithm>
#include <cstring>

namespace inferflux::cuda {
namespace {

constexpr size_t kAlignment = 256;  // of a copy's source

}  // namespace

// Errors are those of a device that has failed, whose memory is gone with it.
Staging::~Staging() {
  (void)runtime_.Synchronize(stream_);
  for (const Half& half : halves_) {
    if (half.memory != nullptr) (void)runtime_.FreePinned(half.memory);
    if (half.copied.native != nullptr) (void)runtime_.Destroy(half.copied);
  }
}

Status Staging::Open() {
  for (Half& half : halves_) {
    auto memory = runtime_.AllocatePinned(kHalf);
    if (!memory) return Forward(memory, "pinned memory for copies");
    half.memory = static_cast<std::byte*>(*memory);
    auto event = runtime_.CreateEvent();
    if (!event) return Forward(event);
    half.copied = *event;
  }
  return {};
}

Status Staging::Copy(void* to, std::span<const std::byte> from) {
  auto* target = static_cast<std::byte*>(to);
  while (!from.empty()) {
    if (used_ == kHalf) {
      if (auto recorded = runtime_.Record(halves_[current_].copied, stream_); !recorded) return recorded;
      halves_[current_].waits = true;
      current_ = 1 - current_;
      used_ = 0;
      if (halves_[current_].waits) {
        if (auto copied = runtime_.Synchronize(halves_[current_].copied); !copied) return copied;
        halves_[current_].waits = false;
      }
    }
    const size_t count = std::min(from.size(), kHalf - used_);
    std::byte* staged = halves_[current_].memory + used_;
    std::memcpy(staged, from.data(), count);
    if (auto put = runtime_.CopyToDevice(target, staged, count, stream_); !put) return put;
    used_ = std::min(kHalf, (used_ + count + kAlignment - 1) / kAlignment * kAlignment);
    target += count;
    from = from.subspan(count);
  }
  return {};
}

}  // namespace inferflux::cuda
