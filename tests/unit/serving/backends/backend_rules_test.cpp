#include "serving/backends/backend_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferflux::serving {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<BackendRule> Rules(std::vector<config::BackendSetting> settings) {
  auto rules = MakeBackendRules(settings);
  EXPECT_TRUE(rules) << rules.error().message;
  return rules.value_or(std::vector<BackendRule>());
}

TEST(BackendRules, TheMostSpecificWordHolds) {
  const auto rules = Rules({{.backend = "cuda", .config = {.device = "1", .kv_dtype = "bf16", .batch = 64}},
                            {.backend = "llama_cpp_cuda", .config = {.kv_dtype = "fp32"}},
                            {.backend = "cpu", .config = {.repack = false}}});
  const BackendConfig shared = {.device = "-1", .kv_dtype = "fp16", .kv_budget = 0, .repack = true, .batch = 0};

  const auto llama = ConfigFor({.batch = 32}, rules, shared, Target::kCuda, Provider::kLlamaCpp);
  EXPECT_EQ(llama.batch, 32) << "the model's own";
  EXPECT_EQ(llama.kv_dtype, "fp32") << "of this provider on the target";
  EXPECT_EQ(llama.device, "1") << "of the target";
  EXPECT_EQ(llama.kv_budget, 0) << "of all";
  EXPECT_EQ(llama.repack, true) << "another backend's word is not its";

  const auto native = ConfigFor({}, rules, shared, Target::kCuda, Provider::kNative);
  EXPECT_EQ(native.kv_dtype, "bf16");
  EXPECT_EQ(ConfigFor({}, rules, shared, Target::kCpu, Provider::kNative).repack, false);
  EXPECT_EQ(ConfigFor({}, rules, shared, Target::kVulkan, Provider::kLlamaCpp).kv_dtype, "fp16");
}

TEST(BackendRules, EntriesThatMeanNothingAreRefusedByName) {
  const auto error = [](std::vector<config::BackendSetting> settings) {
    const auto rules = MakeBackendRules(settings);
    return rules ? "(no error)" : rules.error().message;
  };
  EXPECT_THAT(error({{.backend = "abacus", .origin = "s.yaml:3"}}), AllOf(HasSubstr("s.yaml:3"), HasSubstr("abacus")));
  EXPECT_THAT(error({{.backend = "auto", .origin = "s.yaml:3"}}),
              AllOf(HasSubstr("s.yaml:3"), HasSubstr("for one backend")));
  EXPECT_THAT(error({{.backend = "mps"}, {.backend = "Metal", .origin = "s.yaml:5"}}),
              AllOf(HasSubstr("s.yaml:5"), HasSubstr("twice")))
      << "two words for the same backend";
}

TEST(BackendRules, ASettingThatTheBackendCannotUseIsRefusedByName) {
  const auto error = [](config::BackendSetting setting) {
    setting.origin = "s.yaml:7";
    const auto rules = MakeBackendRules(std::vector{setting});
    return rules ? "(no error)" : rules.error().message;
  };
  EXPECT_THAT(error({.backend = "cpu", .config = {.gpu_layers = 3}}),
              AllOf(HasSubstr("s.yaml:7"), HasSubstr("'cpu'"), HasSubstr("'gpu_layers'")));
  EXPECT_THAT(error({.backend = "cuda", .config = {.mlx_requantise = true}}), HasSubstr("'mlx_requantise'"));
  EXPECT_THAT(error({.backend = "cpu", .config = {.cuda_graphs = false}}), HasSubstr("'cuda_graphs'"));
  EXPECT_EQ(error({.backend = "native_cuda", .config = {.cuda_graphs = false}}), "(no error)");
  EXPECT_THAT(error({.backend = "cpu", .config = {.collectives = "nccl"}}), HasSubstr("'collectives'"));
  EXPECT_EQ(error({.backend = "native_cuda", .config = {.collectives = "nccl"}}), "(no error)");
  EXPECT_THAT(error({.backend = "native_cpu", .config = {.flash_attention = "on"}}), HasSubstr("'flash_attention'"));
  EXPECT_EQ(error({.backend = "cpu", .config = {.repack = false, .flash_attention = "on"}}), "(no error)")
      << "llama.cpp on a cpu has flash attention";
  EXPECT_EQ(error({.backend = "llama_cpp_cuda", .config = {.device = "0", .kv_dtype = "fp16", .gpu_layers = 3}}),
            "(no error)");
  EXPECT_EQ(error({.backend = "mlx", .config = {.kv_budget = 1 << 20, .mlx_requantise = true}}), "(no error)");
}

TEST(BackendRules, NoSettingIsUnusedByAuto) {
  EXPECT_TRUE(UnusedSettings({.mlx_requantise = true, .gpu_layers = 3}, {Target::kAuto, std::nullopt}).empty());
}

}  // namespace
}  // namespace inferflux::serving
