// Judges every access of a checked kernel: is the memory live, written, aligned, and is the access ordered with those
// of other threads?
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compute/cuda/host_executor/block.h"
#include "compute/cuda/host_executor/fault.h"
#include "compute/cuda/host_executor/memory_check/shadow.h"

namespace inferflux::cuda::executor {

enum class Access { kRead, kWrite, kAtomic };

struct Violation {
  Rule rule;
  std::string detail;
};

class MemoryCheck {
 public:
  // `device` is the shadow of the device's memory, and outlives this.
  explicit MemoryCheck(Shadow& device) : device_(device) {}

  // Everything before is ordered before this launch. A slot is a block's shared memory.
  void BeginLaunch(std::vector<std::span<std::byte>> slots);
  void BeginBlock(Block& block);

  // Judges an access of `bytes` at `at` and remembers it. `aligned`: the address has to be a multiple of `bytes`.
  std::optional<Violation> OnAccess(Thread& thread, const void* at, size_t bytes, Access access, bool aligned);

  // cp.async: the destination may not be touched until the copy is done, which writes it in the thread's name.
  std::optional<Violation> OnCopyIssued(Thread& thread, const AsyncCopy& copy);
  void OnCopyDone(Thread& thread, const AsyncCopy& copy);

  // Synchronisation. `mask` are lanes of the warp.
  void OnSyncThreads(Block& block);
  void OnSyncWarp(Warp& warp, unsigned mask);
  void OnFence(Thread& thread);
  void OnAtomic(Thread& thread, const void* at);

 private:
  // The cells of an access, or why there are none.
  tl::expected<Cell*, Violation> Locate(const Thread& thread, const void* at, size_t bytes) const;
  uint32_t SegmentOf(Thread& thread);
  // Whether that segment comes before what the thread does now.
  bool Before(uint32_t segment, const Thread& thread) const;
  Violation Race(uint32_t segment, const Thread& thread, const char* what) const;

  Shadow& device_;
  std::vector<Shadow> shared_;                      // one a slot
  std::vector<Segment> segments_;                   // of this launch
  uint32_t first_segment_ = 1;                      // of this launch
  std::map<const void*, OrderedBefore> published_;  // through atomics, by address
};

}  // namespace inferflux::cuda::executor
