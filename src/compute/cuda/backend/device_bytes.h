// Owned device memory outside of the arena: weights and KV.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {

struct DeviceRelease {
  Runtime* runtime = nullptr;
  void operator()(void* at) const { (void)runtime->Free(at); }  // fails where the device has failed: nothing is left
};

class DeviceBytes {
 public:
  DeviceBytes() = default;

  // Uninitialised. The runtime has to outlive it. No bytes: empty.
  static Result<DeviceBytes> Allocate(Runtime& runtime, size_t bytes) {
    DeviceBytes out;
    if (bytes == 0) return out;
    auto at = runtime.Allocate(bytes);
    if (!at) return Forward(at);
    out.at_ = {*at, DeviceRelease{&runtime}};
    out.bytes_ = bytes;
    return out;
  }

  void* data() const { return at_.get(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(at_.get());
  }
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, DeviceRelease> at_;
  size_t bytes_ = 0;
};

}  // namespace inferflux::cuda
