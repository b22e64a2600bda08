// A step that is being captured: it runs once, and again while its work is recorded and not done. What the first run
// copied to the device stays there, and the second run finds it: a recorded copy would read the host's memory at each
// replay.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/cuda/backend/copies/staging.h"
#include "compute/cuda/backend/device_arena.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda {

// Bytes that a captured step has on the device, and those on the host that they were copied from.
struct Constant {
  std::vector<std::byte> bytes;
  ArenaPiece memory;
};

class Recording {
 public:
  // `arena`: not that of the step's activations.
  Recording(DeviceArena& arena, Staging& staging) : arena_(arena), staging_(staging) {}

  // A copy of `bytes` on the device, which belongs to the recording. An error if the second run wants something else
  // than the first.
  Result<ArenaPiece> Upload(std::span<const std::byte> bytes);

  void BeginSecondRun() { second_ = true; }
  // What the graph has to hold.
  std::vector<Constant> TakeConstants() { return std::move(constants_); }

 private:
  DeviceArena& arena_;
  Staging& staging_;
  std::vector<Constant> constants_;
  bool second_ = false;
};

struct GraphRelease {
  Runtime* runtime = nullptr;
  Stream stream = {};
  void operator()(Graph* graph) const;  // waits for the last replay
};

}  // namespace inferflux::cuda
