// What the device computes and the host gets later: a copy to pinned memory, and an event after it. The memory and the
// events are used again. Belongs to one thread, the engine's.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {

class LateResults;

// A copy that is on its way. Dropping it waits until the memory is free.
class LateCopy {
 public:
  LateCopy() = default;
  LateCopy(LateCopy&& other) noexcept;
  LateCopy& operator=(LateCopy&& other) noexcept;  // `other` gets what was here
  ~LateCopy();

  // Waits. `to` gets the bytes.
  Status Finish(void* to);
  size_t bytes() const { return bytes_; }

 private:
  friend class LateResults;
  struct Place {
    void* memory = nullptr;
    size_t capacity = 0;
    Event done;
  };

  LateResults* pool_ = nullptr;  // null: nothing is on its way
  Place place_;
  size_t bytes_ = 0;
};

class LateResults {
 public:
  explicit LateResults(Runtime& runtime) : runtime_(runtime) {}
  LateResults(const LateResults&) = delete;
  LateResults& operator=(const LateResults&) = delete;
  ~LateResults();  // after every copy

  // Copies from device memory, in the order of the stream.
  Result<LateCopy> Begin(const void* from, size_t bytes, Stream stream);

 private:
  friend class LateCopy;
  static constexpr size_t kKept = size_t{1} << 20;  // larger memory is freed after its use
  static constexpr size_t kLeast = 4096;

  Result<LateCopy::Place> Take(size_t bytes);
  void GiveBack(const LateCopy::Place& place);
  void Free(const LateCopy::Place& place);

  Runtime& runtime_;
  std::vector<LateCopy::Place> free_;
};

}  // namespace inferflux::cuda
