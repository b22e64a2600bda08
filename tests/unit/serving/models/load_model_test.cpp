// Which engines a load tries, in which order, and what it says of those that it passed over.
#include "serving/models/load_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "serving/models/load_testing.h"
#include "text/grammar/grammar_compiler.h"

namespace inferflux::serving {
namespace {

using ::testing::ElementsAre;
using testing::EntryOf;
using ::testing::HasSubstr;
using testing::kTinyFile;
using ::testing::Not;

const std::string kHint = "; an engine that this build lacks may run it: './run --with ";

struct LoadOrder : ::testing::Test {
  Result<std::shared_ptr<const ServedModel>> Load(const std::string& chain, std::vector<EngineEntry> engines,
                                                  ExposurePolicy policy = {}) {
    const BackendFactory factory(std::move(engines), std::move(policy));
    LoadRequest request{.id = "m", .path = path, .requested_backend = chain};
    request.start = starts.starter();
    return LoadModel(factory, request);
  }
  // Why it is not loaded, behind what each such error begins with.
  std::string Why(const std::string& chain, std::vector<EngineEntry> engines, ExposurePolicy policy = {}) {
    const auto loaded = Load(chain, std::move(engines), std::move(policy));
    if (loaded) return "loaded";
    EXPECT_EQ(loaded.error().code, ErrorCode::kUnsupported);
    const std::string begin = "no backend could load " + path + ": ";
    EXPECT_EQ(loaded.error().message.substr(0, begin.size()), begin);
    return loaded.error().message.substr(begin.size());
  }
  std::vector<std::string> Started() const {
    std::vector<std::string> out;
    for (const auto& start : starts.starts) out.push_back(start.engine);
    return out;
  }
  static std::vector<std::string> Attempts(const BackendExposure& exposure) {
    std::vector<std::string> out;
    for (const BackendAttempt& each : exposure.attempts) {
      out.push_back(each.backend + "/" + each.provider + " " + each.outcome + " " + each.reason);
    }
    return out;
  }

  std::string path = kTinyFile;
  testing::FakeStarts starts;
};

TEST_F(LoadOrder, AnEngineThatFailsIsFollowedByTheNext) {
  starts.faults["cuda/native"] = {ErrorCode::kIo, "broken"};
  const auto model = Load("CUDA, cpu", {EntryOf(Target::kCuda), EntryOf(Target::kCpu)});
  ASSERT_TRUE(model) << model.error().message;
  const BackendExposure& exposure = (*model)->exposure;
  EXPECT_EQ(exposure.requested_backend, "CUDA, cpu");
  EXPECT_EQ(exposure.normalised_request, "cuda,cpu");
  EXPECT_THAT(exposure.chain, ElementsAre("cuda", "cpu"));
  EXPECT_EQ(exposure.exposed_backend, "cpu");
  EXPECT_EQ(exposure.provider, "native");
  EXPECT_TRUE(exposure.fallback);
  const std::string absent = "this build has no llama_cpp engine for cuda";
  EXPECT_EQ(exposure.fallback_reason, "cuda (native): broken; cuda (llama_cpp): " + absent);
  EXPECT_THAT(Attempts(exposure),
              ElementsAre("cuda/native failed broken", "cuda/llama_cpp skipped " + absent, "cpu/native loaded "));
  EXPECT_THAT(Started(), ElementsAre("cuda/native", "cpu/native"));
}

TEST_F(LoadOrder, WhatAutoPassesOverIsNoFallback) {
  const auto model = Load("auto", {EntryOf(Target::kCpu, Provider::kLlamaCpp), EntryOf(Target::kCpu)});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_FALSE((*model)->exposure.fallback);
  EXPECT_EQ((*model)->exposure.fallback_reason, "");
  EXPECT_EQ((*model)->exposure.provider, "native");
  EXPECT_GT((*model)->exposure.attempts.size(), 5u);
  EXPECT_EQ(Attempts((*model)->exposure).back(), "cpu/native loaded ");
  EXPECT_THAT(Started(), ElementsAre("cpu/native"));
}

TEST_F(LoadOrder, WhatASwitchForbidsIsNoFallback) {
  const auto model = Load("cuda,cpu", {EntryOf(Target::kCpu)}, {.allow_llama_fallback = false});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->exposure.fallback_reason, "cuda (native): this build has no native engine for cuda");
  starts.faults["cpu/native"] = {ErrorCode::kIo, "broken"};
  EXPECT_EQ(Why("cpu", {EntryOf(Target::kCpu)}, {.allow_llama_fallback = false}),
            "cpu (native): broken; cpu (llama_cpp): runtime.backend_exposure.allow_llama_fallback is off");
  starts.faults["cpu/native"] = {ErrorCode::kUnsupported, "unknown"};
  EXPECT_EQ(Why("cpu", {EntryOf(Target::kCpu)}, {.allow_llama_fallback = false}),
            "cpu (native): unknown; cpu (llama_cpp): runtime.backend_exposure.allow_llama_fallback is off")
      << "to add it would not help";
}

TEST_F(LoadOrder, AnEngineThatMightRunTheModelIsNamedWithTheWayToAddIt) {
  const std::string no_llama = "; cpu (llama_cpp): this build has no llama_cpp engine for cpu";
  starts.faults["cpu/native"] = {ErrorCode::kUnsupported, "unknown architecture"};
  EXPECT_EQ(Why("cpu", {EntryOf(Target::kCpu)}),
            "cpu (native): unknown architecture" + no_llama + kHint + "llama' adds it");
  starts.faults["cpu/native"] = {ErrorCode::kDataLoss, "broken"};
  EXPECT_EQ(Why("cpu", {EntryOf(Target::kCpu)}), "cpu (native): broken" + no_llama)
      << "another engine would find the same";
  EXPECT_EQ(Why("cpu", {}),
            "cpu (native): this build has no native engine for cpu" + no_llama + kHint + "llama' adds it");
  EXPECT_THAT(Why("vulkan,mlx,cuda", {}), ::testing::EndsWith(kHint + "vulkan,mlx' adds it"));
  starts.faults["cpu/llama_cpp"] = {ErrorCode::kUnsupported, "too new"};
  EXPECT_EQ(Why("llama_cpp_cpu", {EntryOf(Target::kCpu, Provider::kLlamaCpp)}), "cpu (llama_cpp): too new")
      << "there is no other";
  const std::string of_auto = Why("auto", {});
  EXPECT_THAT(of_auto, HasSubstr("cuda (native): this build has no native engine for cuda; "));
  EXPECT_THAT(of_auto, HasSubstr("reference (llama_cpp): "));
  EXPECT_THAT(of_auto, Not(HasSubstr("./run")));
}

TEST_F(LoadOrder, AnEngineThatDoesNotReadTheFormatIsNoWay) {
  path = std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/models/bert_scores-hf";
  starts.faults["cpu/native"] = {ErrorCode::kUnsupported, "unknown architecture"};
  EXPECT_THAT(Why("cpu,mlx", {EntryOf(Target::kCpu)}), ::testing::EndsWith(kHint + "mlx' adds it"));
}

TEST_F(LoadOrder, WhatAUserNamedIsSaidWithoutWhatAutoPassesOver) {
  starts.faults["cpu/native"] = {ErrorCode::kIo, "broken"};
  const std::string why = Why("auto", {EntryOf(Target::kCpu)});
  EXPECT_THAT(why, ::testing::StartsWith("cpu (native): broken; cpu (llama_cpp): "));
}

TEST_F(LoadOrder, ACancelledLoadTriesNothingElse) {
  starts.faults["cuda/native"] = {ErrorCode::kCancelled, "enough"};
  const auto cancelled = Load("cuda,cpu", {EntryOf(Target::kCuda), EntryOf(Target::kCpu)});
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(cancelled.error().message, "enough");
  EXPECT_THAT(Started(), ElementsAre("cuda/native"));
}

TEST_F(LoadOrder, AModelOfWorkersHasItsGrammarsThere) {
  const auto here = Load("cpu", {EntryOf(Target::kCpu)});
  ASSERT_TRUE(here);
  EXPECT_NE((*here)->grammars, nullptr);
  EXPECT_TRUE((*here)->exposure.attempts.back().workers.empty());
  starts.workers = {"w1", "w2"};
  const auto there = Load("cpu", {EntryOf(Target::kCpu)});
  ASSERT_TRUE(there);
  EXPECT_EQ((*there)->grammars, nullptr);
  EXPECT_THAT((*there)->exposure.attempts.back().workers, ElementsAre("w1", "w2"));
  EXPECT_NE((*there)->scheduler, nullptr);
}

TEST_F(LoadOrder, ReasonsAreJoinedInTheirOrder) {
  EXPECT_EQ(JoinReasons({}), "");
  const std::vector<BackendAttempt> attempts = {{"cuda", "native", "failed", "why"},
                                                {"cpu", "llama_cpp", "skipped", "how"}};
  EXPECT_EQ(JoinReasons(attempts), "cuda (native): why; cpu (llama_cpp): how");
}

}  // namespace
}  // namespace inferflux::serving
