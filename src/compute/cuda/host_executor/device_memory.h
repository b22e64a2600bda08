// The memory of the host executor's device: one range of addresses that faults while no kernel and no copy runs, so
// that the host cannot take a device pointer for its own. An address is used once: a pointer to freed memory stays
// dead.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "compute/cuda/host_executor/memory_check/shadow.h"

namespace inferflux::cuda::executor {

class DeviceMemory {
 public:
  // `bytes` is what may be allocated at a time; `checked` keeps a shadow of it, and faults where the host takes a
  // pointer for its own.
  static Result<std::unique_ptr<DeviceMemory>> Reserve(size_t bytes, bool checked);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  // 256-byte aligned, filled with bytes of 0xff. Fails where more is asked for than is free.
  Result<std::byte*> Allocate(size_t bytes);
  // `at` has to come from Allocate.
  Status Free(void* at);

  // Whether [at, at + bytes) is within one allocation; says what else it is.
  Status CheckRange(const void* at, size_t bytes) const;
  // Also that every byte has been written. Without a shadow it cannot tell.
  Status CheckWritten(const void* at, size_t bytes) const;
  void MarkWritten(const void* at, size_t bytes);

  // Whether the host may read and write it just now.
  void SetOpen(bool open);

  size_t total() const { return limit_; }
  size_t used() const { return used_; }
  void DropShadow() { shadow_.reset(); }
  Shadow* shadow() { return shadow_ ? &*shadow_ : nullptr; }

 private:
  DeviceMemory(std::span<std::byte> range, size_t limit) : range_(range), limit_(limit) {}

  std::span<std::byte> range_;  // of addresses, many times `limit_`
  size_t limit_ = 0;
  size_t used_ = 0;
  size_t next_ = 0;                    // offset of the first address that was never given out
  std::map<std::byte*, size_t> live_;  // what was allocated, and its bytes
  bool open_ = false;
  bool guarded_ = true;
  std::optional<Shadow> shadow_;
};

}  // namespace inferflux::cuda::executor
