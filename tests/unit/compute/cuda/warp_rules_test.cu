// Each rule of a warp's collective operations: a kernel that breaks it, which has to be caught, and a right one.
#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/test_device.h"

namespace inferflux::cuda {
namespace {

using executor::Rule;
using testing::ExpectFault;
using testing::ExpectRight;
using testing::TestDevice;

__global__ void SumOfLanes(int* out) { out[ThreadIndex().x] = WarpSum(Lane()); }

TEST(WarpRules, AWarpSumsItsLanes) {
  ExpectRight([](TestDevice& device) {
    int* out = device.New<int>(64);
    auto fault = device.Run(SumOfLanes, {1}, {64}, 0, out);
    if (!fault) {
      EXPECT_EQ(device.Download(out, 64), std::vector<int>(64, 31 * 16));
    }
    return fault;
  });
}

__global__ void ShuffleWithAMaskOfOthers(int* out) {
  if (Lane() < 16) out[Lane()] = Shuffle(0xffff0000u, Lane(), 16);
}

TEST(WarpRules, ACallerHasToBeInItsMask) {
  ExpectFault(Rule::kCallerNotInMask, [](TestDevice& device) {
    return device.Run(ShuffleWithAMaskOfOthers, {1}, {32}, 0, device.New<int>(32));
  });
}

__global__ void HalfOfTheWarpNamesAll(int* out) {
  if (Lane() < 16) out[Lane()] = Shuffle(kFullWarp, Lane(), 0);
}
__global__ void HalfOfTheWarpNamesItself(int* out) {
  if (Lane() < 16) out[Lane()] = Shuffle(0xffffu, Lane(), 0);
}

TEST(WarpRules, AMaskMayNotNameLanesThatReturn) {
  ExpectFault(Rule::kExitedLane,
              [](TestDevice& device) { return device.Run(HalfOfTheWarpNamesAll, {1}, {32}, 0, device.New<int>(32)); });
  ExpectRight(
      [](TestDevice& device) { return device.Run(HalfOfTheWarpNamesItself, {1}, {32}, 0, device.New<int>(32)); });
}

__global__ void TwoCallSites(int* out) {
  if (Lane() < 16) {
    out[Lane()] = Shuffle(kFullWarp, Lane(), 0);
  } else {
    out[Lane()] = Shuffle(kFullWarp, Lane(), 1);
  }
}
__global__ void TwoCallSitesOfTwoMasks(int* out) {
  if (Lane() < 16) {
    out[Lane()] = Shuffle(0x0000ffffu, Lane(), 0);
  } else {
    out[Lane()] = Shuffle(0xffff0000u, Lane(), 16);
  }
  out[Lane()] += Shuffle(kFullWarp, Lane(), 3);
}

TEST(WarpRules, LanesOfAMaskMeetAtOneCallSite) {
  ExpectFault(Rule::kLanesApart,
              [](TestDevice& device) { return device.Run(TwoCallSites, {1}, {32}, 0, device.New<int>(32)); });
  ExpectRight([](TestDevice& device) { return device.Run(TwoCallSitesOfTwoMasks, {1}, {32}, 0, device.New<int>(32)); });
}

__global__ void ShuffleFromAnAbsentLane(int* out) {
  if (Lane() < 16) out[Lane()] = Shuffle(0xffffu, Lane(), 20);
}

TEST(WarpRules, AShuffleReadsALaneThatTakesPart) {
  ExpectFault(Rule::kShuffleSource, [](TestDevice& device) {
    return device.Run(ShuffleFromAnAbsentLane, {1}, {32}, 0, device.New<int>(32));
  });
}

// Lane 0 waits for the whole warp, the others wait for the block.
__global__ void LaneZeroWaitsForTheOthers() {
  if (Lane() == 0) SyncWarp();
  SyncThreads();
}

TEST(WarpRules, ALaneThatWaitsForLanesAtABarrierIsStuck) {
  ExpectFault(Rule::kBarrierDivergence,
              [](TestDevice& device) { return device.Run(LaneZeroWaitsForTheOthers, {1}, {32}, 0); });
}

__global__ void LoadMatrixOfShared(uint32_t* out) {
  uint16_t* shared = SharedMemory<uint16_t>();
  for (int i = 0; i < 8; ++i) shared[Lane() * 8 + i] = static_cast<uint16_t>(Lane() * 8 + i);
  SyncThreads();
  uint32_t registers[4];
  LoadMatrix4(registers, shared + Lane() * 8);
  for (int i = 0; i < 4; ++i) out[Lane() * 4 + i] = registers[i];
}

TEST(WarpRules, AlignedOperationsNeedAllLanes) {
  ExpectFault(Rule::kPartialWarp, [](TestDevice& device) {
    return device.Run(LoadMatrixOfShared, {1}, {16}, 512, device.New<uint32_t>(128));
  });
  ExpectRight(
      [](TestDevice& device) { return device.Run(LoadMatrixOfShared, {1}, {32}, 512, device.New<uint32_t>(128)); });
}

__global__ void LoadMatrixOfSomeLanes(uint32_t* out) {
  uint16_t* shared = SharedMemory<uint16_t>();
  for (int i = 0; i < 8; ++i) shared[Lane() * 8 + i] = 0;
  SyncWarp();
  if (Lane() < 31) {
    uint32_t registers[4];
    LoadMatrix4(registers, shared + Lane() * 8);
    out[Lane()] = registers[0];
  }
}

TEST(WarpRules, AlignedOperationsNeedALaneThatHasReturned) {
  for (uint64_t seed = 1; seed <= testing::kSeeds; ++seed) {
    TestDevice device({.seed = seed});
    const auto fault = device.Run(LoadMatrixOfSomeLanes, {1}, {32}, 512, device.New<uint32_t>(128));
    ASSERT_TRUE(fault.has_value());
    // Which of the two it is depends on who comes first.
    EXPECT_TRUE(fault->rule == Rule::kPartialWarp || fault->rule == Rule::kExitedLane)
        << executor::ToError(*fault).message;
  }
}

}  // namespace
}  // namespace inferflux::cuda
