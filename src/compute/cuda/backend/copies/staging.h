// Copies from the host through pinned memory: two halves, of which one is filled while the other is copied. What the
// caller gave may change as soon as a call returns.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/result.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {

class Staging {
 public:
  static constexpr size_t kHalf = size_t{4} << 20;

  Staging(Runtime& runtime, Stream stream) : runtime_(runtime), stream_(stream) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  Status Open();
  // Copies to device memory, in the order of the stream.
  Status Copy(void* to, std::span<const std::byte> from);

 private:
  struct Half {
    std::byte* memory = nullptr;
    Event copied;  // recorded after its last copy, once it is left
    bool waits = false;
  };

  Runtime& runtime_;
  Stream stream_;
  std::array<Half, 2> halves_;
  size_t current_ = 0;
  size_t used_ = 0;  // of the current half
};

}  // namespace inferflux::cuda
