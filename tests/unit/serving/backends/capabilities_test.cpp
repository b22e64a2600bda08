// What a model can do for a request, by what its engine can do; and the facts of each kind of device.
#include "serving/backends/capabilities.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "serving/backends/target.h"

namespace inferflux::serving {
namespace {

using EngineCan = compute::Capabilities;
using ModelCan = Capabilities;

TEST(CapabilitiesTest, EachFeatureHasItsNameAndItsMember) {
  const std::vector<std::tuple<Feature, std::string_view, bool ModelCan::*>> rows = {
      {Feature::kCompletions, "completions", &ModelCan::completions},
      {Feature::kChat, "chat", &ModelCan::chat},
      {Feature::kEmbeddings, "embeddings", &ModelCan::embeddings},
      {Feature::kScores, "scores", &ModelCan::scores},
      {Feature::kLogprobs, "logprobs", &ModelCan::logprobs},
      {Feature::kPromptLogprobs, "prompt_logprobs", &ModelCan::prompt_logprobs},
      {Feature::kStructuredOutput, "structured_output", &ModelCan::structured_output},
      {Feature::kStreaming, "streaming", &ModelCan::streaming}};
  for (const auto& [feature, name, member] : rows) {
    EXPECT_EQ(FeatureName(feature), name);
    ModelCan only = CapabilitiesOf({}, false);
    for (const auto& [other, other_name, other_member] : rows) EXPECT_FALSE(only.Has(other)) << other_name;
    only.*member = true;
    for (const auto& [other, other_name, other_member] : rows) {
      EXPECT_EQ(only.Has(other), other == feature) << name << ", " << other_name;
    }
  }
}

TEST(CapabilitiesTest, EachFollowsFromTheEngines) {
  const std::vector<std::pair<bool EngineCan::*, std::vector<bool ModelCan::*>>> rows = {
      {&EngineCan::generation, {&ModelCan::completions, &ModelCan::chat, &ModelCan::streaming}},
      {&EngineCan::embeddings, {&ModelCan::embeddings}},
      {&EngineCan::scores, {&ModelCan::scores}},
      {&EngineCan::logprobs, {&ModelCan::logprobs, &ModelCan::prompt_logprobs}},
      {&EngineCan::structured_output, {&ModelCan::structured_output}},
      {&EngineCan::speculative_verification, {&ModelCan::speculative_decoding}},
      {&EngineCan::prefix_copy, {&ModelCan::kv_prefix_copy}},
      {&EngineCan::kv_save_restore, {&ModelCan::kv_save_restore}},
      {&EngineCan::unified_execution, {&ModelCan::unified_batch}},
      {&EngineCan::phased_execution, {&ModelCan::phased_execution}},
      {&EngineCan::multimodal, {&ModelCan::multimodal}},
      {&EngineCan::graph_capture, {&ModelCan::graph_capture}},
      {&EngineCan::device_sampling, {&ModelCan::device_sampling}},
      {&EngineCan::batch_invariant, {&ModelCan::batch_invariant}}};
  for (size_t row = 0; row < rows.size(); ++row) {
    engine::EngineInfo engine;
    engine.hidden = 1;
    engine.capabilities.*rows[row].first = true;
    const ModelCan can = CapabilitiesOf(engine, true);
    for (size_t other = 0; other < rows.size(); ++other) {
      for (const auto member : rows[other].second) EXPECT_EQ(can.*member, other == row) << row << ", " << other;
    }
  }
}

TEST(CapabilitiesTest, ChatNeedsATemplateAndEmbeddingsHiddenStates) {
  engine::EngineInfo engine;
  engine.capabilities.generation = engine.capabilities.embeddings = true;
  EXPECT_FALSE(CapabilitiesOf(engine, false).chat);
  EXPECT_TRUE(CapabilitiesOf(engine, false).completions);
  EXPECT_FALSE(CapabilitiesOf(engine, true).embeddings);
  engine.hidden = 1;
  EXPECT_TRUE(CapabilitiesOf(engine, true).embeddings);
  engine.capabilities.generation = false;
  EXPECT_FALSE(CapabilitiesOf(engine, true).chat);
}

TEST(TargetFacts, StayTheSame) {
  using Row = std::tuple<Target, std::string_view, bool, bool, int>;
  std::vector<Row> rows;
  for (const TargetTraits& each : AllTargets()) {
    rows.emplace_back(each.target, each.name, each.gpu_accelerated, each.flash_attention, each.device_rank);
    EXPECT_EQ(&Traits(each.target), &each);
  }
  EXPECT_EQ(rows, (std::vector<Row>{{Target::kCpu, "cpu", false, true, 10},
                                    {Target::kCuda, "cuda", true, true, 90},
                                    {Target::kVulkan, "vulkan", true, true, 50},
                                    {Target::kRocm, "rocm", true, true, 80},
                                    {Target::kMps, "mps", true, true, 70},
                                    {Target::kMlx, "mlx", true, true, 75},
                                    {Target::kOpencl, "opencl", true, false, 30},
                                    {Target::kReference, "reference", false, false, 0},
                                    {Target::kAuto, "auto", false, false, 0}}));
  EXPECT_EQ(ProviderName(Provider::kNative), "native");
  EXPECT_EQ(ProviderName(Provider::kLlamaCpp), "llama_cpp");
}

TEST(TargetWords, EachHasOneMeaning) {
  const std::pair<const char*, TargetHint> words[] = {{"metal", {Target::kMps, {}}},
                                                      {"NVIDIA", {Target::kCuda, {}}},
                                                      {"hip", {Target::kRocm, {}}},
                                                      {"amd", {Target::kRocm, {}}},
                                                      {"any", {Target::kAuto, {}}},
                                                      {"native", {Target::kAuto, Provider::kNative}},
                                                      {"llama-cpp", {Target::kAuto, Provider::kLlamaCpp}},
                                                      {"native_metal", {Target::kMps, Provider::kNative}},
                                                      {"llama_cpp_any", {Target::kAuto, Provider::kLlamaCpp}},
                                                      {"\t vulkan\r\n", {Target::kVulkan, {}}}};
  for (const auto& [word, hint] : words) {
    const auto parsed = ParseTarget(word);
    ASSERT_TRUE(parsed) << word;
    EXPECT_EQ(*parsed, hint) << word;
  }
  for (const char* wrong : {"native_", "llama_cpp_", "native_native_cpu", "llama", "cpu0", "c pu"}) {
    const auto parsed = ParseTarget(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().message,
              "unknown backend '" + std::string(wrong) +
                  "'; known are cpu, cuda, vulkan, rocm, mps, mlx, opencl, reference, auto, each also with native_ or "
                  "llama_cpp_ in front");
  }
  EXPECT_EQ(HintName({Target::kCpu, {}}), "cpu");
  EXPECT_EQ(HintName({Target::kCpu, Provider::kNative}), "native_cpu");
  EXPECT_EQ(HintName({Target::kMps, Provider::kLlamaCpp}), "llama_cpp_mps");
}

TEST(TargetWords, AChainIsAllOfItsWords) {
  const auto name = [](const char* chain) {
    const auto parsed = ParseChain(chain);
    return parsed ? ChainName(*parsed) : parsed.error().message;
  };
  EXPECT_EQ(name("cpu"), "cpu");
  EXPECT_EQ(name(",cpu"), "cpu");
  EXPECT_EQ(name("cpu,cuda"), "cpu,cuda");
  EXPECT_EQ(name("cpu, ,llama_cpp_cpu,cpu"), "cpu,llama_cpp_cpu");
}

}  // namespace
}  // namespace inferflux::serving
