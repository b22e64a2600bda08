// Work on two streams: each waits for the other where it has to, whatever the order in which the host executor runs
// them.
#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

constexpr int kDoublings = 20;

// x * 2^kDoublings, by many kernels one after the other.
Cuda::Buffer Doubled(Cuda::Context& context, float x) {
  Cuda::Buffer out = Cuda::LoadVector(context, std::vector<float>{x});
  for (int i = 0; i < kDoublings; ++i) out = Cuda::Add(context, out, out);
  return out;
}

TEST(CudaTwoStreams, TheSecondBeginsAfterTheFirstAndTheFirstGoesOnAfterTheSecond) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto context = OpenContext(cuda::HostRuntime::Open({.seed = seed}));
    {
      const Cuda::Buffer first = Doubled(*context, 1.0f);
      ASSERT_TRUE(Cuda::Fork(*context));
      Cuda::SwapStreams(*context);
      Cuda::LateRead of_first = Cuda::BeginRead(*context, first);
      const Cuda::Buffer second = Doubled(*context, 3.0f);
      Cuda::SwapStreams(*context);
      ASSERT_TRUE(Cuda::Join(*context));
      Cuda::LateRead of_second = Cuda::BeginRead(*context, second);
      const float factor = static_cast<float>(1 << kDoublings);
      EXPECT_EQ(Cuda::FinishRead(*context, std::move(of_first)), std::vector<float>{factor});
      EXPECT_EQ(Cuda::FinishRead(*context, std::move(of_second)), std::vector<float>{3.0f * factor});
    }
  }
}

TEST(CudaTwoStreams, MemoryThatTheOtherOneKeepsForReuseIsGivenUp) {
  const auto context = OpenContext(cuda::HostRuntime::Open({.memory_bytes = 64 << 10, .checked = false}));
  ASSERT_TRUE(Cuda::Fork(*context));
  const std::vector<float> much(9000, 1.0f);  // more than half of the memory
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(Cuda::Read(*context, Cuda::LoadVector(*context, much)), much) << turn;
    ASSERT_TRUE(Cuda::Join(*context));
    ASSERT_TRUE(Cuda::Fork(*context));
    Cuda::SwapStreams(*context);
  }
}

}  // namespace
}  // namespace inferflux::compute::testing
