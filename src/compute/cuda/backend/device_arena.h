// Device memory for a step's activations, reused by size class. All work is on one stream, so that a piece may be given
// out again as soon as its last user was put on the stream. Belongs to one thread, the engine's.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "compute/cuda/backend/device_bytes.h"
#include "compute/cuda/runtime.h"
#include "compute/size_class.h"

namespace inferflux::cuda {

class DeviceArena;

struct ArenaRelease {
  DeviceArena* arena = nullptr;
  size_t bytes = 0;
  void operator()(void* at) const;
};
using ArenaPiece = std::unique_ptr<void, ArenaRelease>;

class DeviceArena {
 public:
  explicit DeviceArena(Runtime& runtime) : runtime_(runtime) {}
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;
  ~DeviceArena();

  // 256-byte aligned, uninitialised. Where the device has no memory left, the pieces that wait for reuse are freed
  // first. Every piece must be destroyed before its arena.
  Result<ArenaPiece> Allocate(size_t bytes);

  // Bytes held, both in use and kept for reuse.
  size_t bytes() const { return bytes_; }

 private:
  friend struct ArenaRelease;
  void Recycle(void* at, size_t bytes);
  void FreeUnused();

  Runtime& runtime_;
  std::array<std::vector<void*>, compute::SizeClass::kCount> free_;  // by size class
  size_t bytes_ = 0;
};

}  // namespace inferflux::cuda
