// Prefetches memory in pieces during other work. Past the end of memory a prefetch has no effect.
#pragma once

#include <algorithm>
#include <cstdint>

namespace inferflux::compute::cpu {
namespace {  // one per instruction set

class Prefetch {
 public:
  Prefetch() = default;
  Prefetch(const void* data, int64_t bytes) : at_(static_cast<const char*>(data)), end_(at_ + bytes) {}

  // Prefetches the next `bytes`, in lines of 64 bytes.
  void Fetch(int64_t bytes) {
    for (const char* to = std::min(end_, at_ + bytes); at_ < to; at_ += 64) __builtin_prefetch(at_, 0, 3);
  }

  // Bytes per call, for `pieces` calls of Fetch.
  int64_t StepOf(int64_t pieces) const { return (end_ - at_ + pieces - 1) / pieces; }

  // The share of part `part` of `parts`.
  Prefetch Part(int64_t part, int64_t parts) const {
    if (parts == 1) return *this;  // avoids a division, whose latency one row would notice
    const int64_t lines = (end_ - at_) / 64;
    const int64_t first = lines * part / parts;
    return {at_ + 64 * first, 64 * (lines * (part + 1) / parts - first)};
  }

 private:
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace
}  // namespace inferflux::compute::cpu
