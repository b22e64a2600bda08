#include "compute/cuda/host_executor/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>

namespace inferflux::cuda::executor {
namespace {

constexpr size_t kAddresses = size_t{1} << 38;
constexpr size_t kPage = 4096;

constexpr size_t RoundToPages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::Reserve(size_t bytes, bool checked) {
  void* range = mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    return Fail(ErrorCode::kResourceExhausted, "the host executor cannot reserve {} bytes of addresses", kAddresses);
  }
  std::unique_ptr<DeviceMemory> out(new DeviceMemory({static_cast<std::byte*>(range), kAddresses}, bytes));
  out->guarded_ = checked;
  out->open_ = !checked;
  if (checked) {
    out->shadow_.emplace(out->range_);
    if (out->shadow_->memory().empty()) {
      return Fail(ErrorCode::kResourceExhausted, "the host executor cannot reserve addresses for checks");
    }
  }
  return out;
}

DeviceMemory::~DeviceMemory() { munmap(range_.data(), range_.size()); }

Result<std::byte*> DeviceMemory::Allocate(size_t bytes) {
  if (bytes == 0 || bytes > limit_ - used_) {
    return Fail(ErrorCode::kResourceExhausted, "{} bytes of device memory, of which {} of {} are free", bytes,
                limit_ - used_, limit_);
  }
  const size_t reserved = RoundToPages(bytes) + kPage;  // a page between allocations, which is never theirs
  if (reserved > range_.size() - next_) {
    return Fail(ErrorCode::kResourceExhausted, "the host executor has given out all of its {} addresses",
                range_.size());
  }
  std::byte* at = range_.data() + next_;
  next_ += reserved;
  used_ += bytes;
  live_[at] = bytes;
  mprotect(at, RoundToPages(bytes), PROT_READ | PROT_WRITE);
  std::fill_n(at, bytes, std::byte{0xff});
  if (!open_) mprotect(at, RoundToPages(bytes), PROT_NONE);
  if (shadow_) shadow_->Set(at, bytes, ByteState::kAllocated);
  return at;
}

Status DeviceMemory::Free(void* at) {
  const auto found = live_.find(static_cast<std::byte*>(at));
  if (found == live_.end()) return Fail(ErrorCode::kInvalidArgument, "{} is no device memory that can be freed", at);
  const size_t bytes = found->second;
  mprotect(at, RoundToPages(bytes), PROT_NONE);
  madvise(at, RoundToPages(bytes), MADV_DONTNEED);
  if (shadow_) shadow_->Set(at, bytes, ByteState::kFreed);
  used_ -= bytes;
  live_.erase(found);
  return {};
}

Status DeviceMemory::CheckRange(const void* at, size_t bytes) const {
  auto after = live_.upper_bound(static_cast<std::byte*>(const_cast<void*>(at)));
  if (after != live_.begin()) {
    const auto& [start, size] = *--after;
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(at) - start);
    if (offset <= size && bytes <= size - offset) return {};
  }
  return Fail(ErrorCode::kInvalidArgument, "{} bytes at {} are not within one allocation of device memory", bytes, at);
}

Status DeviceMemory::CheckWritten(const void* at, size_t bytes) const {
  if (auto inside = CheckRange(at, bytes); !inside || !shadow_) return inside;
  const Cell* cells = shadow_->Of(at);
  for (size_t i = 0; i < bytes; ++i) {
    if (cells[i].state != ByteState::kInitialised) {
      return Fail(ErrorCode::kInternal, "byte {} of {} at {} was never written", i, bytes, at);
    }
  }
  return {};
}

void DeviceMemory::MarkWritten(const void* at, size_t bytes) {
  if (shadow_) shadow_->Set(at, bytes, ByteState::kInitialised);
}

void DeviceMemory::SetOpen(bool open) {
  if (!guarded_ || open == open_) return;
  open_ = open;
  for (const auto& [at, bytes] : live_) mprotect(at, RoundToPages(bytes), open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace inferflux::cuda::executor
