// Rules of memory: a kernel that breaks each, which has to be caught whatever the order of threads, and a right one.
#include "compute/cuda/device/async_copy.h"
#include "compute/cuda/device/atomic.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/test_device.h"

namespace inferflux::cuda {
namespace {

using executor::Rule;
using testing::ExpectFault;
using testing::ExpectRight;
using testing::TestDevice;

__global__ void CopyInts(int* to, const int* from, int count) {
  const int i = static_cast<int>(BlockIndex().x * BlockSize().x + ThreadIndex().x);
  if (i < count) to[i] = from[i];
}

TEST(MemoryRules, AccessesStayWithinAllocations) {
  ExpectFault(Rule::kOutOfBounds, [](TestDevice& device) {
    const int* from = device.Upload(std::vector<int>(100, 7));
    return device.Run(CopyInts, {1}, {128}, 0, device.New<int>(128), from, 101);
  });
  ExpectFault(Rule::kOutOfBounds, [](TestDevice& device) {
    const int* from = device.Upload(std::vector<int>(128, 7));
    return device.Run(CopyInts, {1}, {128}, 0, device.New<int>(100), from, 101);
  });
  ExpectRight([](TestDevice& device) {
    const int* from = device.Upload(std::vector<int>(100, 7));
    int* to = device.New<int>(100);
    auto fault = device.Run(CopyInts, {1}, {128}, 0, to, from, 100);
    if (!fault) {
      EXPECT_EQ(device.Download(to, 100), std::vector<int>(100, 7));
    }
    return fault;
  });
}

TEST(MemoryRules, FreedMemoryIsDead) {
  ExpectFault(Rule::kUseAfterFree, [](TestDevice& device) {
    int* from = device.Upload(std::vector<int>(100, 7));
    testing::Must(device.runtime().Free(from));
    return device.Run(CopyInts, {1}, {128}, 0, device.New<int>(100), from, 100);
  });
}

TEST(MemoryRules, HostMemoryIsNotTheDevices) {
  std::vector<int> host(100, 7);
  ExpectFault(Rule::kForeignMemory, [&](TestDevice& device) {
    return device.Run(CopyInts, {1}, {128}, 0, device.New<int>(100), static_cast<const int*>(host.data()), 100);
  });
}

TEST(MemoryRules, ReadsAreOfWhatWasWritten) {
  ExpectFault(Rule::kUninitialised, [](TestDevice& device) {
    return device.Run(CopyInts, {1}, {128}, 0, device.New<int>(100), device.New<int>(100), 100);
  });
}

__global__ void ReadAt(const unsigned char* from, int offset, float* to) {
  *to = *reinterpret_cast<const float*>(from + offset);
}

TEST(MemoryRules, AddressesAreAligned) {
  ExpectFault(Rule::kMisaligned, [](TestDevice& device) {
    return device.Run(ReadAt, {1}, {1}, 0, device.Upload(std::vector<unsigned char>(16, 0)), 2, device.New<float>(1));
  });
  ExpectRight([](TestDevice& device) {
    return device.Run(ReadAt, {1}, {1}, 0, device.Upload(std::vector<unsigned char>(16, 0)), 4, device.New<float>(1));
  });
}

__global__ void WriteSharedAt(int offset) { SharedMemory<int>()[offset] = 1; }

TEST(MemoryRules, SharedMemoryIsAsLargeAsTheLaunchSays) {
  ExpectFault(Rule::kOutOfBounds, [](TestDevice& device) { return device.Run(WriteSharedAt, {1}, {1}, 64, 16); });
  ExpectFault(Rule::kOutOfBounds, [](TestDevice& device) { return device.Run(WriteSharedAt, {1}, {1}, 0, 0); });
  ExpectRight([](TestDevice& device) { return device.Run(WriteSharedAt, {1}, {1}, 64, 15); });
}

// Thread 0 hands the address of a local variable to the others.
__global__ void ReadAnothersStack(int* out) {
  int local = static_cast<int>(ThreadIndex().x);
  int** handed = SharedMemory<int*>();
  if (ThreadIndex().x == 0) handed[0] = &local;
  SyncThreads();
  out[ThreadIndex().x] = *handed[0];
  SyncThreads();
}

TEST(MemoryRules, AStackIsItsThreadsOwn) {
  ExpectFault(Rule::kForeignMemory,
              [](TestDevice& device) { return device.Run(ReadAnothersStack, {1}, {2}, 64, device.New<int>(2)); });
}

// Each thread reads its neighbour's value; the barrier orders that. With `barrier` false nothing does.
__global__ void PassToTheNext(int* out, bool barrier) {
  int* shared = SharedMemory<int>();
  const unsigned i = ThreadIndex().x;
  shared[i] = static_cast<int>(i);
  if (barrier) SyncThreads();
  out[i] = shared[(i + 1) % BlockSize().x];
}

TEST(MemoryRules, ABarrierOrdersABlock) {
  for (uint64_t seed = 1; seed <= testing::kSeeds; ++seed) {
    TestDevice device({.seed = seed});
    const auto fault = device.Run(PassToTheNext, {1}, {64}, 256, device.New<int>(64), false);
    ASSERT_TRUE(fault.has_value());
    // The first to be seen is a read before the write, or one of the two that race.
    EXPECT_TRUE(fault->rule == Rule::kRaceInBlock || fault->rule == Rule::kUninitialised);
  }
  ExpectRight([](TestDevice& device) { return device.Run(PassToTheNext, {1}, {64}, 256, device.New<int>(64), true); });
}

// A write over what others still read: the barrier between two rounds is missing.
__global__ void TwoRounds(int* out, bool barrier) {
  int* shared = SharedMemory<int>();
  const unsigned i = ThreadIndex().x;
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    if (i == 0) *shared = round;
    SyncThreads();
    sum += *shared;
    if (barrier) SyncThreads();
  }
  out[i] = sum;
}

TEST(MemoryRules, AWriteWaitsForReaders) {
  ExpectFault(Rule::kRaceInBlock,
              [](TestDevice& device) { return device.Run(TwoRounds, {1}, {64}, 256, device.New<int>(64), false); });
  ExpectRight([](TestDevice& device) { return device.Run(TwoRounds, {1}, {64}, 256, device.New<int>(64), true); });
}

// Lanes exchange values through shared memory: a shuffle between them orders no memory, SyncWarp does.
__global__ void PassWithinAWarp(int* out, bool sync) {
  int* shared = SharedMemory<int>();
  const int lane = Lane();
  shared[lane] = lane;
  if (sync) {
    SyncWarp();
  } else {
    Shuffle(kFullWarp, lane, 0);
  }
  out[lane] = shared[31 - lane];
}

TEST(MemoryRules, OnlySyncWarpOrdersAWarpsMemory) {
  ExpectFault(Rule::kRaceInBlock, [](TestDevice& device) {
    return device.Run(PassWithinAWarp, {1}, {32}, 128, device.New<int>(32), false);
  });
  ExpectRight(
      [](TestDevice& device) { return device.Run(PassWithinAWarp, {1}, {32}, 128, device.New<int>(32), true); });
}

// SyncWarp of one half orders nothing with the other.
__global__ void PassBetweenHalves(int* out) {
  int* shared = SharedMemory<int>();
  shared[Lane()] = Lane();
  SyncWarp(Lane() < 16 ? 0x0000ffffu : 0xffff0000u);
  Shuffle(kFullWarp, 0, 0);
  out[Lane()] = shared[31 - Lane()];
}

TEST(MemoryRules, SyncWarpOrdersTheLanesOfItsMask) {
  ExpectFault(Rule::kRaceInBlock,
              [](TestDevice& device) { return device.Run(PassBetweenHalves, {1}, {32}, 128, device.New<int>(32)); });
}

__global__ void AllBlocksWrite(int* out) {
  if (ThreadIndex().x == 0) out[0] = static_cast<int>(BlockIndex().x);
}

TEST(MemoryRules, BlocksDoNotWriteOneAddress) {
  ExpectFault(Rule::kRaceBetweenBlocks,
              [](TestDevice& device) { return device.Run(AllBlocksWrite, {3}, {32}, 0, device.New<int>(1)); });
}

__global__ void AllBlocksAdd(int* out) {
  if (ThreadIndex().x == 0) AtomicAdd(out, 1);
}

TEST(MemoryRules, AtomicsDoNotRace) {
  ExpectRight([](TestDevice& device) {
    int* sum = device.Upload<int>({0});
    auto fault = device.Run(AllBlocksAdd, {16}, {32}, 0, sum);
    if (!fault) {
      EXPECT_EQ(device.Download(sum, 1)[0], 16);
    }
    return fault;
  });
}

__global__ void OneBlockWritesPlainly(int* out) {
  if (ThreadIndex().x != 0) return;
  if (BlockIndex().x == 0) {
    *out = 5;
  } else {
    AtomicAdd(out, 1);
  }
}

TEST(MemoryRules, AtomicsRaceWithPlainAccesses) {
  ExpectFault(Rule::kRaceBetweenBlocks, [](TestDevice& device) {
    return device.Run(OneBlockWritesPlainly, {2}, {32}, 0, device.Upload<int>({0}));
  });
}

// The last block to finish adds up what the others wrote (CUDA samples, threadFenceReduction). The fences order it.
__global__ void LastBlockAdds(int* partial, unsigned* finished, int* out, bool fences) {
  bool* last = SharedMemory<bool>();
  if (ThreadIndex().x == 0) {
    partial[BlockIndex().x] = static_cast<int>(BlockIndex().x);
    if (fences) FenceDevice();
    *last = AtomicAdd(finished, 1u) == GridSize().x - 1;
    if (fences) FenceDevice();
  }
  SyncThreads();
  if (*last && ThreadIndex().x == 1) {
    int sum = 0;
    for (unsigned i = 0; i < GridSize().x; ++i) sum += partial[i];
    *out = sum;
  }
}

TEST(MemoryRules, FencesAndAtomicsOrderBlocks) {
  const auto run = [](TestDevice& device, bool fences, int* out) {
    return device.Run(LastBlockAdds, {5}, {32}, 64, device.New<int>(5), device.Upload<unsigned>({0}), out, fences);
  };
  ExpectFault(Rule::kRaceBetweenBlocks, [&](TestDevice& device) { return run(device, false, device.New<int>(1)); });
  ExpectRight([&](TestDevice& device) {
    int* out = device.New<int>(1);
    auto fault = run(device, true, out);
    if (!fault) {
      EXPECT_EQ(device.Download(out, 1)[0], 10);
    }
    return fault;
  });
}

enum class Waits { kNone, kOwnGroupOnly, kBarrierOnly, kBoth };

// Each thread copies 16 bytes and reads its neighbour's, or its own.
__global__ void CopyAndRead(int* out, const int* from, Waits waits, unsigned neighbour) {
  int* shared = SharedMemory<int>();
  const unsigned i = ThreadIndex().x;
  CopyAsync16(shared + 4 * i, from + 4 * i);
  CommitCopies();
  if (waits == Waits::kOwnGroupOnly || waits == Waits::kBoth) WaitCopies<0>();
  if (waits == Waits::kBarrierOnly || waits == Waits::kBoth) SyncThreads();
  out[i] = shared[4 * ((i + neighbour) % BlockSize().x)];
}

std::optional<executor::Fault> RunCopy(TestDevice& device, Waits waits, unsigned neighbour) {
  return device.Run(CopyAndRead, {1}, {32}, 512, device.New<int>(32), device.Upload(std::vector<int>(128, 3)), waits,
                    neighbour);
}

TEST(MemoryRules, AnAsynchronousCopyIsWaitedFor) {
  ExpectFault(Rule::kCopyInFlight, [](TestDevice& device) { return RunCopy(device, Waits::kNone, 0); });
  ExpectFault(Rule::kCopyInFlight, [](TestDevice& device) { return RunCopy(device, Waits::kBarrierOnly, 0); });
  ExpectFault(Rule::kCopyInFlight, [](TestDevice& device) { return RunCopy(device, Waits::kBarrierOnly, 1); });
  ExpectRight([](TestDevice& device) { return RunCopy(device, Waits::kOwnGroupOnly, 0); });
  ExpectRight([](TestDevice& device) { return RunCopy(device, Waits::kBoth, 1); });
}

TEST(MemoryRules, AnotherThreadsCopyNeedsABarrierToo) {
  for (uint64_t seed = 1; seed <= testing::kSeeds; ++seed) {
    TestDevice device({.seed = seed});
    const auto fault = RunCopy(device, Waits::kOwnGroupOnly, 1);
    ASSERT_TRUE(fault.has_value());
    EXPECT_TRUE(fault->rule == Rule::kRaceInBlock || fault->rule == Rule::kUninitialised)
        << executor::ToError(*fault).message;
  }
}

// Two groups: the first is done when one is pending, the second is not.
__global__ void TwoGroups(int* out, const int* from, int read) {
  int* shared = SharedMemory<int>();
  CopyAsync16(shared, from);
  CommitCopies();
  CopyAsync16(shared + 4, from + 4, false);
  CommitCopies();
  WaitCopies<1>();
  out[0] = shared[read];
  WaitCopies<0>();
  out[1] = shared[4];
}

TEST(MemoryRules, GroupsOfCopiesEndInOrder) {
  const auto run = [](TestDevice& device, int read, int* out) {
    return device.Run(TwoGroups, {1}, {1}, 64, out, device.Upload(std::vector<int>(8, 3)), read);
  };
  ExpectFault(Rule::kCopyInFlight, [&](TestDevice& device) { return run(device, 4, device.New<int>(2)); });
  ExpectRight([&](TestDevice& device) {
    int* out = device.New<int>(2);
    auto fault = run(device, 0, out);
    if (!fault) {
      EXPECT_EQ(device.Download(out, 2), (std::vector<int>{3, 0}));
    }
    return fault;
  });
}

}  // namespace
}  // namespace inferflux::cuda
