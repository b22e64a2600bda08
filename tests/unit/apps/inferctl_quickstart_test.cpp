// The choices of quickstart. The server's own resolver accepts the file that it writes and reads the same settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apps/inferctl/quickstart/plan.h"
#include "apps/inferctl/quickstart/server_yaml.h"
#include "config/resolve.h"

namespace inferflux::apps {
namespace {

using serving::EngineEntry;
using serving::Provider;
using serving::Target;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

EngineEntry Here(Target target, Provider provider, int64_t free_bytes) {
  return {.target = target,
          .provider = provider,
          .make = [](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
            return Fail(ErrorCode::kInternal, "not meant to be made");
          },
          .devices =
              [free_bytes] {
                return std::vector<compute::Device>{{"a device", free_bytes}};
              }};
}

std::vector<EngineEntry> Machine(int64_t memory = 32 * kGiB, int64_t gpu_memory = 8 * kGiB) {
  return {Here(Target::kCpu, Provider::kNative, memory),
          Here(Target::kCpu, Provider::kLlamaCpp, memory),
          Here(Target::kVulkan, Provider::kLlamaCpp, gpu_memory),
          {.target = Target::kMlx, .why_absent = "this build has no MLX"}};
}

// Llama 3.2 1B in Q4_K: 32 KiB of fp16 KV for each token.
QuickstartModel Small() {
  return {.path = "/models/small one.gguf",
          .format = "gguf",
          .weight_bytes = kGiB * 3 / 4,
          .layers = 16,
          .context = 131072,
          .kv_token_values = 2 * 16 * 8 * 64};
}

class QuickstartTest : public ::testing::Test {
 protected:
  QuickstartTest()
      : folder_(std::filesystem::temp_directory_path() / ("inferflux_quickstart_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~QuickstartTest() override { std::filesystem::remove_all(folder_); }

  Result<config::Settings> Resolved(const QuickstartPlan& plan, const std::string& serves) {
    config::FlagValues flags;
    flags.file = (folder_ / "server.yaml").string();
    std::ofstream(flags.file) << ServerYaml(plan, serves);
    return config::Resolve(flags, {});
  }

  std::filesystem::path folder_;
};

TEST_F(QuickstartTest, EveryPlanIsAFileThatTheServerTakes) {
  for (const char* word : {"auto", "cpu", "native_cpu", "llama_cpp_cpu", "vulkan", "llama_cpp_vulkan", "CPU", "Any"}) {
    SCOPED_TRACE(word);
    const auto plan = MakePlan(word, Machine(), Small());
    ASSERT_TRUE(plan) << plan.error().message;
    for (const std::string serves : {"", "/models/it's \"mine\": #1.gguf"}) {
      const auto settings = Resolved(*plan, serves);
      ASSERT_TRUE(settings) << settings.error().message;
      EXPECT_EQ(settings->Words("runtime.backend"), plan->backend);
      EXPECT_EQ(settings->Text("runtime.kv_dtype"), plan->kv_dtype);
      EXPECT_EQ(settings->Bytes("runtime.kv_budget"), plan->kv_budget);
      EXPECT_EQ(settings->Integer("runtime.llama_cpp.gpu_layers"), plan->gpu_layers);
      EXPECT_EQ(settings->Text("server.host"), "127.0.0.1");
      ASSERT_EQ(settings->models().size(), serves.empty() ? 0u : 1u);
      EXPECT_TRUE(serves.empty() || settings->models()[0].path == serves);
    }
  }
}

TEST_F(QuickstartTest, TheBestThatIsHereIsTaken) {
  EXPECT_EQ(MakePlan("auto", Machine(), Small())->target, Target::kVulkan) << "a GPU comes first";
  EXPECT_EQ(MakePlan("cpu", Machine(), Small())->provider, Provider::kNative);
  QuickstartModel foreign = Small();
  foreign.native_error = "architecture 'odd' is not known";
  EXPECT_EQ(MakePlan("cpu", Machine(), foreign)->provider, Provider::kLlamaCpp) << "the fallback takes what we cannot";
}

TEST_F(QuickstartTest, LessMemoryMeansASmallerBudgetThenSmallerKeysAndValues) {
  const auto roomy = MakePlan("cpu", Machine(32 * kGiB), Small());
  const auto tight = MakePlan("cpu", Machine(2 * kGiB), Small());
  ASSERT_TRUE(roomy && tight);
  EXPECT_EQ(roomy->kv_dtype, "fp16");
  EXPECT_EQ(tight->kv_dtype, "int8");
  EXPECT_LT(roomy->kv_budget, 32 * kGiB - Small().weight_bytes);
  EXPECT_LT(tight->kv_budget, 2 * kGiB - Small().weight_bytes);
  EXPECT_EQ(MakePlan("llama_cpp_cpu", Machine(2 * kGiB), Small())->kv_dtype, "fp16") << "it has no int8";
}

TEST_F(QuickstartTest, AGpuGetsAsManyLayersAsItHolds) {
  EXPECT_EQ(MakePlan("vulkan", Machine(), Small())->gpu_layers, -1) << "all";
  QuickstartModel large = Small();
  large.weight_bytes = 16 * kGiB;
  large.layers = 32;
  const auto split = MakePlan("vulkan", Machine(), large);
  ASSERT_TRUE(split);
  EXPECT_GT(split->gpu_layers, 8);
  EXPECT_LT(split->gpu_layers, 16) << "16 layers alone fill it";
}

TEST_F(QuickstartTest, WeightsCountAsTheBackendHoldsThem) {
  QuickstartModel model = Small();
  model.format = "huggingface";
  model.weight_bytes = 40 * kGiB;
  model.fp8_saves = 30 * kGiB;
  std::vector<EngineEntry> machine = Machine();
  EXPECT_FALSE(MakePlan("cpu", machine, model));
  machine[0].weight_layouts = {.affine = true};
  EXPECT_FALSE(MakePlan("cpu", machine, model)) << "that is another form";
  machine[0].weight_layouts = {.fp8 = true};
  const auto plan = MakePlan("cpu", machine, model);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_LT(plan->kv_budget, 11 * kGiB);
  std::swap(model.fp8_saves, model.affine_saves);
  machine[0].weight_layouts = {.affine = true};
  EXPECT_TRUE(MakePlan("cpu", machine, model));
  std::swap(model.affine_saves, model.ordered_saves);
  EXPECT_FALSE(MakePlan("cpu", machine, model));
  machine[0].weight_layouts = {.ordered = true};
  EXPECT_TRUE(MakePlan("cpu", machine, model));
}

TEST_F(QuickstartTest, WhatCannotBeIsOneSentenceWithItsReasonAndAWayOut) {
  const auto message = [](const auto& plan) { return plan ? std::string("(no error)") : plan.error().message; };
  EXPECT_THAT(message(MakePlan("gpu9", Machine(), Small())), AllOf(HasSubstr("'gpu9'"), HasSubstr("vulkan")));
  EXPECT_THAT(message(MakePlan("mlx", Machine(), Small())),
              AllOf(HasSubstr("--backend mlx"), HasSubstr("this build has no MLX"),
                    HasSubstr("here: cpu, llama_cpp_cpu, llama_cpp_vulkan")));
  EXPECT_THAT(message(MakePlan("cpu", Machine(kGiB / 2), Small())),
              AllOf(HasSubstr("small one.gguf needs about 1."), HasSubstr("0.5 GiB are free"), HasSubstr("smaller")));
  QuickstartModel directory = Small();
  directory.format = "huggingface";
  EXPECT_THAT(message(MakePlan("llama_cpp_cpu", Machine(), directory)), HasSubstr("inferflux-convert"));
}

}  // namespace
}  // namespace inferflux::apps
