#include "serving/backends/target.h"

#include <gtest/gtest.h>

namespace inferflux::serving {
namespace {

TEST(Target, EveryTargetsOwnNameParses) {
  for (const TargetTraits& traits : AllTargets()) {
    const auto hint = ParseTarget(traits.name);
    ASSERT_TRUE(hint) << traits.name;
    EXPECT_EQ(hint->target, traits.target);
    EXPECT_FALSE(hint->provider);
  }
}

TEST(Target, AliasesAndProviders) {
  EXPECT_EQ(ParseTarget("Metal")->target, Target::kMps);
  EXPECT_EQ(*ParseTarget("native_cuda"), (TargetHint{Target::kCuda, Provider::kNative}));
  EXPECT_EQ(*ParseTarget("llama-cpp-cuda"), (TargetHint{Target::kCuda, Provider::kLlamaCpp}));
  EXPECT_EQ(*ParseTarget(" CPU "), (TargetHint{Target::kCpu, std::nullopt}));
}

TEST(Target, AnUnknownWordListsTheKnownOnes) {
  const auto hint = ParseTarget("tpu");
  ASSERT_FALSE(hint);
  EXPECT_NE(hint.error().message.find("tpu"), std::string::npos);
  for (const char* known : {"cpu", "cuda", "vulkan", "rocm", "mps", "mlx", "opencl", "auto"}) {
    EXPECT_NE(hint.error().message.find(known), std::string::npos) << known;
  }
}

TEST(Target, ChainsLoseCaseAliasesEmptyWordsAndRepetitions) {
  const auto chain = ParseChain("CUDA, metal,,cuda ,mps, cpu,native-cpu,AUTO,any,");
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_EQ(ChainName(*chain), "cuda,mps,cpu,native_cpu,auto");
}

TEST(Target, AChainWithoutAWordOrWithAnUnknownOneIsRefused) {
  for (const char* chain : {"", ",", " , "}) {
    const auto parsed = ParseChain(chain);
    ASSERT_FALSE(parsed) << chain;
    EXPECT_NE(parsed.error().message.find("names no backend; known are cpu"), std::string::npos);
  }
  EXPECT_NE(ParseChain("cpu,tpu").error().message.find("'tpu'"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::serving
