#include "serving/backends/backend_factory.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(Names(*Factory().Candidates(Words{"cpu"})), (Words{"cpu/native", "cpu/llama_cpp"}));
  EXPECT_EQ(Names(*Factory({.prefer_native = false}).Candidates(Words{"cpu"})), (Words{"cpu/llama_cpp", "cpu/native"}));
}

TEST(BackendFactory, WhatCannotBeTriedIsListedWithItsReason) {
  const auto candidates = Factory().Candidates(Words{"cuda", "cpu"});
  ASSERT_TRUE(candidates);
  EXPECT_EQ(Names(*candidates), (Words{"!cuda/native", "!cuda/llama_cpp", "cpu/native", "cpu/llama_cpp"}));
  EXPECT_EQ((*candidates)[0].reason, "built without CUDA");
  EXPECT_NE((*candidates)[1].reason.find("llama_cpp engine for cuda"), std::string::npos);
}

TEST(BackendFactory, AForbiddenFallbackSaysSo) {
  const auto candidates = Factory({.allow_llama_fallback = false}).Candidates(Words{"vulkan"});
  ASSERT_TRUE(candidates);
  EXPECT_EQ(Names(*candidates), (Words{"!vulkan/native", "!vulkan/llama_cpp"}));
  EXPECT_NE((*candidates)[1].reason.find("allow_llama_fallback"), std::string::npos);
}

TEST(BackendFactory, AutoWalksTheBuildsTargetsByRank) {
  EXPECT_EQ(Names(*Factory().Candidates(Words{"auto"})),
            (Words{"!vulkan/native", "vulkan/llama_cpp", "cpu/native", "cpu/llama_cpp"}));
}

TEST(BackendFactory, ANamedProviderIsNotReplaced) {
  EXPECT_EQ(Names(*Factory().Candidates(Words{"native_cuda"})), Words{"!cuda/native"});
  EXPECT_EQ(Names(*Factory({.allow_llama_fallback = false}).Candidates(Words{"llama_cpp_cpu"})),
            Words{"cpu/llama_cpp"});
}

}  // namespace
}  // namespace inferflux::serving
