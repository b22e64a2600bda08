#include "serving/backends/backend_factory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace inferflux::serving {
namespace {

EngineEntry Built(Target target, Provider provider) {
  return {.target = target,
          .provider = provider,
          .make = [](const EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
            return Fail(ErrorCode::kInternal, "not meant to be made");
          }};
}

BackendFactory Factory(ExposurePolicy policy = {}) {
  return BackendFactory({Built(Target::kCpu, Provider::kNative),
                         Built(Target::kCpu, Provider::kLlamaCpp),
                         Built(Target::kVulkan, Provider::kLlamaCpp),
                         {.target = Target::kCuda, .provider = Provider::kNative, .why_absent = "built without CUDA"}},
                        policy);
}

std::vector<std::string> Names(const std::vector<Candidate>& candidates) {
  std::vector<std::string> out;
  for (const Candidate& c : candidates) {
    out.push_back(fmt::format("{}{}/{}", c.engine ? "" : "!", Traits(c.target).name, ProviderName(c.provider)));
  }
  return out;
}

using Words = std::vector<std::string>;

TEST(BackendFactory, NativeComesBeforeTheUniversalFallback) {
  EXPECT_EQ(Names(*Factory().Candidates("cpu")), (Words{"cpu/native", "cpu/llama_cpp"}));
  EXPECT_EQ(Names(*Factory({.prefer_native = false}).Candidates("cpu")), (Words{"cpu/llama_cpp", "cpu/native"}));
}

TEST(BackendFactory, WhatCannotBeTriedIsListedWithItsReason) {
  const auto candidates = Factory().Candidates("cuda,cpu");
  ASSERT_TRUE(candidates);
  EXPECT_EQ(Names(*candidates), (Words{"!cuda/native", "!cuda/llama_cpp", "cpu/native", "cpu/llama_cpp"}));
  EXPECT_EQ((*candidates)[0].reason, "built without CUDA");
  EXPECT_NE((*candidates)[1].reason.find("llama_cpp engine for cuda"), std::string::npos);
}

TEST(BackendFactory, AForbiddenFallbackSaysSo) {
  const auto candidates = Factory({.allow_llama_fallback = false}).Candidates("vulkan");
  ASSERT_TRUE(candidates);
  EXPECT_EQ(Names(*candidates), (Words{"!vulkan/native", "!vulkan/llama_cpp"}));
  EXPECT_NE((*candidates)[1].reason.find("allow_llama_fallback"), std::string::npos);
  EXPECT_EQ((*candidates)[1].skip, Skip::kForbidden);
}

TEST(BackendFactory, AutoWalksAllTargetsByRankAndSaysWhatItPassesOver) {
  const auto candidates = *Factory().Candidates("auto");
  EXPECT_EQ(Names(candidates), (Words{"!cuda/native", "!cuda/llama_cpp", "!rocm/native", "!rocm/llama_cpp",
                                      "!mlx/native", "!mlx/llama_cpp", "!mps/native", "!mps/llama_cpp",
                                      "!vulkan/native", "vulkan/llama_cpp", "!opencl/native", "!opencl/llama_cpp",
                                      "cpu/native", "cpu/llama_cpp", "!reference/native", "!reference/llama_cpp"}));
  for (const Candidate& candidate : candidates) {
    EXPECT_EQ(candidate.engine == nullptr, !candidate.reason.empty()) << candidate.reason;
    if (candidate.target == Target::kCuda) {
      EXPECT_EQ(candidate.skip, Skip::kUnnamed);
    }
  }
}

TEST(BackendFactory, AutoIsTheConfiguredPriorityAnywhereInAChain) {
  const BackendFactory factory = Factory({.priority = "CPU,cuda"});
  const Words priority = {"cpu/native", "cpu/llama_cpp", "!cuda/native", "!cuda/llama_cpp"};
  for (const char* chain : {"auto", "AUTO", "any", "cpu,auto", "auto,cuda", ",auto,,"}) {
    EXPECT_EQ(Names(*factory.Candidates(chain)), priority) << chain;
  }
  EXPECT_EQ(Names(*factory.Candidates("cuda,auto")),
            (Words{"!cuda/native", "!cuda/llama_cpp", "cpu/native", "cpu/llama_cpp"}));
  EXPECT_EQ((*factory.Candidates("auto"))[2].skip, Skip::kAbsent) << "the priority names it";
  EXPECT_EQ(Names(*factory.Candidates("native")), (Words{"cpu/native", "!cuda/native"}));
}

TEST(BackendFactory, APriorityMayEndInTheDevicesByRank) {
  const auto candidates = *Factory({.priority = "cpu,auto"}).Candidates("auto");
  const auto names = Names(candidates);
  EXPECT_EQ(Words(names.begin(), names.begin() + 3), (Words{"cpu/native", "cpu/llama_cpp", "!cuda/native"}));
  EXPECT_EQ(candidates[2].skip, Skip::kUnnamed);
}

TEST(BackendFactory, APriorityThatMeansNothingIsRefusedByName) {
  const auto unknown = Factory({.priority = "abacus"}).Candidates("cpu,auto");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("runtime.backend_priority"), std::string::npos);
  const auto nowhere = Factory({.priority = "llama_cpp_cpu"}).Candidates("native");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("other providers"), std::string::npos);
}

TEST(BackendFactory, WhatIsOnlyForThoseWhoNameItIsNotLedToByAuto) {
  EngineEntry oracle = Built(Target::kReference, Provider::kNative);
  oracle.automatic = false;
  const BackendFactory factory({std::move(oracle)}, {});
  const auto by_rank = *factory.Candidates("auto");
  EXPECT_TRUE(std::ranges::all_of(by_rank, [](const Candidate& one) { return one.skip == Skip::kUnnamed; }));
  EXPECT_NE((*factory.Candidates("reference"))[0].engine, nullptr);
}

TEST(BackendFactory, ANamedProviderIsNotReplaced) {
  EXPECT_EQ(Names(*Factory().Candidates("native_cuda")), Words{"!cuda/native"});
  EXPECT_EQ(Names(*Factory({.allow_llama_fallback = false}).Candidates("llama_cpp_cpu")), Words{"cpu/llama_cpp"});
}

}  // namespace
}  // namespace inferflux::serving
