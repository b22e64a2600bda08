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
  DeviceArena* arena = nullptr;  // null: the piece belongs to another holder
  size_t bytes = 0;
  void operator()(void* at) const;
};
using ArenaPiece = std::unique_ptr<void, ArenaRelease>;

class DeviceArena {
 public:
  // kKeep: pieces that are not in use stay where they are, because captured graphs write to them.
  enum class Unused { kFreeWhereMemoryIsShort, kKeep };

  explicit DeviceArena(Runtime& runtime, Unused unused = Unused::kFreeWhereMemoryIsShort)
      : runtime_(runtime), unused_(unused) {}
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;
  ~DeviceArena();

  // 256-byte aligned, uninitialised. Where the device has no memory left, the pieces that wait for reuse are freed
  // first. Every piece must be destroyed before its arena.
  Result<ArenaPiece> Allocate(size_t bytes);

  // Where memory is short, what this one keeps for reuse is freed too. It has to live as long.
  void set_neighbour(DeviceArena* neighbour) { neighbour_ = neighbour; }

  // Bytes held, both in use and kept for reuse.
  size_t bytes() const { return bytes_; }

  // With kKeep: how many pieces there are, and the end of those that were made after the first `pieces`. None of these
  // is in use.
  size_t pieces() const { return made_.size(); }
  void FreeAfter(size_t pieces);

 private:
  friend struct ArenaRelease;
  void Recycle(void* at, size_t bytes);
  void FreeUnused();

  Runtime& runtime_;
  struct Made {
    void* at;
    size_t number;  // of its size class
  };

  Unused unused_;
  DeviceArena* neighbour_ = nullptr;
  std::array<std::vector<void*>, compute::SizeClass::kCount> free_;  // by size class
  std::vector<Made> made_;                                           // with kKeep, in order
  size_t bytes_ = 0;
};

}  // namespace inferflux::cuda
