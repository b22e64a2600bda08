// What the backend says where a device has too little memory, or fails.
#include "base/without_exceptions.h"
#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

using formats::TensorType;

TEST(CudaFailures, WeightsThatDoNotFitAreNamed) {
  const auto context = OpenContext(cuda::HostRuntime::Open({.memory_bytes = 100000}));
  std::mt19937 random(1);
  const auto owned = RandomMatrix(TensorType::kF32, random, 300, 100);
  const auto matrix = Cuda::LoadMatrix(*context, {&owned.matrix, 1});
  ASSERT_FALSE(matrix);
  EXPECT_EQ(matrix.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(matrix.error().message.find("the weights F32: 134400 bytes of device memory, of which 100000"),
            std::string::npos)
      << matrix.error().message;
}

TEST(CudaFailures, KvThatDoesNotFitIsAnError) {
  const auto context = OpenContext(cuda::HostRuntime::Open({.memory_bytes = 100000}));
  const auto cache = Cuda::CreateKvCache<KvFp16>(*context, {{{2, 64}}, 100, 16});
  ASSERT_FALSE(cache);
  EXPECT_EQ(cache.error().code, ErrorCode::kResourceExhausted);
  constexpr int32_t kHuge = 1 << 30;
  EXPECT_EQ(Cuda::CreateKvCache<KvFp16>(*context, {{{kHuge, kHuge}}, kHuge, 256}).error().code,
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(Cuda::CreateKvCache<KvFp16>(*context, {{{1, 64}}, 0, 16}).error().code, ErrorCode::kInvalidArgument);
}

// A step's pieces are reused where nothing else is left, and what does not fit at all is an error of the step.
TEST(CudaFailures, AStepThatNeedsTooMuchMemoryFails) {
  const auto context = OpenContext(cuda::HostRuntime::Open({.memory_bytes = 64 << 10}));
  const auto step = [&](int64_t floats) {
    return WithoutExceptions("cuda", [&]() -> Result<std::vector<float>> {
      const std::vector<float> values(static_cast<size_t>(floats), 1.0f);
      const auto x = Cuda::LoadVector(*context, values);
      return Cuda::Read(*context, Cuda::Add(*context, x, x));
    });
  };
  EXPECT_TRUE(step(3000));
  EXPECT_TRUE(step(7000)) << "the smaller pieces were not given back";
  const auto failed = step(20000);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(failed.error().message.find("cuda: "), std::string::npos) << failed.error().message;
  EXPECT_TRUE(step(7000)) << "the device works on";
}

TEST(CudaFailures, AFaultOfAKernelIsTheStepsError) {
  const auto context = OpenContext();
  std::mt19937 random(2);
  const auto owned = RandomMatrix(TensorType::kF32, random, 10, 16);
  const auto table = *Cuda::LoadTable(*context, owned.matrix);
  const StepGeometry step{.tokens = {10}, .positions = {0}, .query_starts = {0, 1}};  // there is no token 10
  const auto failed = WithoutExceptions("cuda", [&]() -> Result<std::vector<float>> {
    return Cuda::Read(*context, Cuda::Embed(*context, table, Cuda::LoadBatch(*context, step)));
  });
  auto& runtime = static_cast<cuda::HostRuntime&>(*context->runtime);
  if (!runtime.fault()) GTEST_SKIP() << "the kernels of this build are not checked";
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("EmbedRowsKernel"), std::string::npos) << failed.error().message;
}

TEST(CudaFailures, DriversAreToldFromOneAnother) {
  EXPECT_TRUE(cuda::CheckDriver(13000, 13000));
  EXPECT_TRUE(cuda::CheckDriver(13000, 13020)) << "the same major version";
  EXPECT_TRUE(cuda::CheckDriver(14010, 13000));
  EXPECT_EQ(cuda::CheckDriver(0, 13000).error().message, "there is no NVIDIA driver here; CUDA 13.0 needs one");
  EXPECT_EQ(cuda::CheckDriver(12040, 13020).error().message,
            "NVIDIA's driver supports CUDA up to 12.4, and this build needs 13.0: install a newer driver");
}

TEST(CudaFailures, ADeviceThatIsNotThereIsNamed) {
  const auto context = Cuda::CreateContext({.device = "GPU-8a2f1c3e"});
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().message,
            "the backend cuda has no device 'GPU-8a2f1c3e': it has 0 (cuda (host executor, for tests), CUDA0)");
}

}  // namespace
}  // namespace inferflux::compute::testing
