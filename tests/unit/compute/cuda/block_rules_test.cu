// Barriers of a block, limits of a launch, and waiting for other blocks.
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

__global__ void HalfReturnsBeforeTheBarrier() {
  if (ThreadIndex().x >= 64) return;
  SyncThreads();
}

TEST(BlockRules, AThreadThatReturnedIsMissedAtABarrier) {
  ExpectFault(Rule::kExitedLane,
              [](TestDevice& device) { return device.Run(HalfReturnsBeforeTheBarrier, {1}, {128}, 0); });
}

__global__ void TwoBarriers() {
  if (ThreadIndex().x < 64) {
    SyncThreads();
  } else {
    SyncThreads();
  }
}
__global__ void OneBarrier() { SyncThreads(); }

TEST(BlockRules, AllThreadsWaitAtOneBarrier) {
  ExpectFault(Rule::kBarrierDivergence, [](TestDevice& device) { return device.Run(TwoBarriers, {1}, {128}, 0); });
  ExpectRight([](TestDevice& device) { return device.Run(OneBarrier, {3}, {128}, 0); });
}

// Each block waits until the other one has come: a GPU may run them one after the other.
__global__ void BlocksWaitForEachOther(unsigned* arrived) {
  if (ThreadIndex().x == 0) {
    AtomicAdd(arrived, 1u);
    while (AtomicLoad(arrived) < GridSize().x) continue;
  }
}

TEST(BlockRules, NoBlockWaitsForAnother) {
  ExpectFault(Rule::kWaitsForOtherBlock, [](TestDevice& device) {
    return device.Run(BlocksWaitForEachOther, {2}, {32}, 0, device.Upload<unsigned>({0}));
  });
}

// The same with plain accesses: it never ends where the other block comes later, and races where it came before.
__global__ void ABlockWaitsWithPlainReads(volatile unsigned* flag) {
  if (BlockIndex().x == 0) {
    *flag = 1;
  } else {
    while (*flag == 0) continue;
  }
}

TEST(BlockRules, NoBlockWaitsForAnotherWithPlainReads) {
  for (uint64_t seed = 1; seed <= testing::kSeeds; ++seed) {
    TestDevice device({.seed = seed});
    volatile unsigned* flag = device.Upload<unsigned>({0});
    const auto fault = device.Run(ABlockWaitsWithPlainReads, {2}, {1}, 0, flag);
    ASSERT_TRUE(fault.has_value());
    EXPECT_TRUE(fault->rule == Rule::kWaitsForOtherBlock || fault->rule == Rule::kRaceBetweenBlocks)
        << executor::ToError(*fault).message;
  }
}

// Within a block it is allowed: threads make progress.
__global__ void WarpsWaitForEachOther(unsigned* arrived) {
  if (Lane() == 0) {
    AtomicAdd(arrived, 1u);
    while (AtomicLoad(arrived) < BlockSize().x / kWarpSize) continue;
  }
}

TEST(BlockRules, WarpsOfABlockMayWaitForEachOther) {
  ExpectRight([](TestDevice& device) {
    return device.Run(WarpsWaitForEachOther, {1}, {256}, 0, device.Upload<unsigned>({0}));
  });
}

__global__ void Nothing() {}

Status LaunchNothing(int compute_capability, Dim3 grid, Dim3 block, size_t shared_bytes) {
  TestDevice device({.compute_capability = compute_capability});
  return Launch(Nothing, grid, block, shared_bytes, device.stream());
}

TEST(BlockRules, LimitsAreThoseOfTheArchitecture) {
  for (const auto& [compute_capability, kib] : {std::pair(80, 163), {86, 99}, {90, 227}, {120, 99}}) {
    EXPECT_TRUE(LaunchNothing(compute_capability, {1}, {32}, kib * 1024));
    const Status refused = LaunchNothing(compute_capability, {1}, {32}, kib * 1024 + 1);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(std::to_string(kib * 1024)), std::string::npos) << refused.error().message;
  }
  EXPECT_TRUE(LaunchNothing(90, {1}, {1024}, 0));
  EXPECT_FALSE(LaunchNothing(90, {1}, {1025}, 0));
  EXPECT_FALSE(LaunchNothing(90, {1}, {32, 32, 2}, 0));
  EXPECT_FALSE(LaunchNothing(90, {1}, {1, 1, 65}, 0));
  EXPECT_FALSE(LaunchNothing(90, {1, 65536}, {32}, 0));
  EXPECT_FALSE(LaunchNothing(90, {0}, {32}, 0));
}

struct ManyParameters {
  unsigned char bytes[32768];
};
__global__ void TakesMany(ManyParameters) {}

TEST(BlockRules, ParametersAreLimitedToo) {
  TestDevice device;
  EXPECT_FALSE(Launch(TakesMany, {1}, {1}, 0, device.stream(), ManyParameters{}));
}

__global__ void OrderOfBlocks(unsigned* next, unsigned* order) {
  if (ThreadIndex().x == 0) order[AtomicAdd(next, 1u)] = BlockIndex().x;
}

TEST(BlockRules, SeedsChangeTheOrderOfBlocksAndRepeatIt) {
  const auto order = [](uint64_t seed) {
    TestDevice device({.seed = seed});
    unsigned* out = device.New<unsigned>(8);
    EXPECT_FALSE(device.Run(OrderOfBlocks, {8}, {32}, 0, device.Upload<unsigned>({0}), out));
    return device.Download(out, 8);
  };
  EXPECT_NE(order(1), order(2));
  EXPECT_EQ(order(1), order(1));
}

TEST(BlockRules, AFaultNamesKernelThreadAndPlace) {
  TestDevice device;
  const auto fault = device.Run(HalfReturnsBeforeTheBarrier, {1}, {128}, 0);
  ASSERT_TRUE(fault.has_value());
  EXPECT_NE(fault->kernel.find("HalfReturnsBeforeTheBarrier"), std::string::npos) << fault->kernel;
  EXPECT_EQ(fault->site.find("block_rules_test.cu:"), 0u) << fault->site;
}

}  // namespace
}  // namespace inferflux::cuda
