// A block under way: its threads, its warps and what they wait for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compute/cuda/device/language.h"
#include "compute/cuda/host_executor/fiber.h"
#include "compute/cuda/host_executor/memory_check/order.h"

namespace inferflux::cuda::executor {

struct Block;
struct Thread;

enum class WarpOperation { kSync, kShuffle, kBallot, kTogether, kLoadMatrix, kMatMulAdd };

// Lanes that have arrived at one call, and wait for the others of its mask.
struct Meeting {
  WarpOperation operation;
  unsigned mask;
  Site site;
  unsigned arrived = 0;
  std::array<void*, kWarpSize> operands{};  // each lane's, on its own stack
};

struct Warp {
  std::array<Thread*, kWarpSize> lanes{};  // null where the block has no such thread
  unsigned present = 0;                    // the lanes that exist
  unsigned exited = 0;
  std::vector<Meeting> meetings;
};

struct AsyncCopy {
  std::byte* shared;
  const std::byte* global;
  int bytes;
  bool present;
  Site site;
};

struct Thread {
  enum class State { kReady, kAtWarp, kAtBarrier, kDone };

  Block* block = nullptr;
  Warp* warp = nullptr;
  unsigned index = 0;  // in the block, x fastest
  int lane = 0;
  Dim3 position{0, 0, 0};
  Fiber fiber;
  State state = State::kReady;
  Site site{};  // of what it waits for

  std::vector<std::vector<AsyncCopy>> copies;  // groups that were committed and not waited for, oldest first
  std::vector<AsyncCopy> open_copies;          // not committed yet

  const void* polled = nullptr;  // the address and value of its last atomic operation, and how often they were the same
  uint64_t polled_value = 0;
  int polls = 0;
  const void* accessed = nullptr;  // the same of its last plain access
  int accesses = 0;

  Order order;
};

struct Block {
  Dim3 index{0, 0, 0};
  unsigned number = 0;  // in the grid, x fastest
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::span<std::byte> shared;
  unsigned slot = 0;  // of the shared memory that it has

  unsigned at_barrier = 0, done = 0;
  Site barrier_site{};
  uint32_t barriers = 0;  // that were passed
  OrderedBefore acquired;
};

}  // namespace inferflux::cuda::executor
