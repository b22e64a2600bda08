#include "serving/models/select_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferflux::serving {
namespace {

using ::testing::HasSubstr;
using Why = NoSelection::Why;

constexpr Feature kEmbed[] = {Feature::kEmbeddings};
constexpr Feature kTalk[] = {Feature::kChat, Feature::kLogprobs};

std::shared_ptr<const ServedModel> Model(std::string id, std::string backend, std::string path, bool embeds,
                                         std::string provider = "native") {
  auto out = std::make_shared<ServedModel>();
  out->id = std::move(id);
  out->info.path = std::move(path);
  out->exposure.exposed_backend = std::move(backend);
  out->exposure.provider = std::move(provider);
  out->capabilities.embeddings = embeds;
  return out;
}

RoutingTable Table(std::vector<std::shared_ptr<const ServedModel>> models) {
  const std::string first = models.empty() ? "" : models.front()->id;
  return {std::move(models), first, {}};
}

TEST(SelectModel, TheDefaultModelServesWhatItCan) {
  const auto table = Table({Model("a", "cpu", "x", false), Model("b", "cuda", "x", true)});
  for (const char* id : {"", "default", "a"}) {
    const auto chosen = SelectModelForRequest(table, id, kTalk, {});
    ASSERT_TRUE(chosen.has_value()) << id;
    EXPECT_EQ(chosen->model->id, "a");
    EXPECT_EQ(chosen->instead_of, nullptr);
  }
}

TEST(SelectModel, TheDefaultRouteSwitchesToTheSameFileOnAnotherBackend) {
  const auto table =
      Table({Model("a", "cpu", "x", false), Model("other", "cuda", "y", true), Model("b", "cpu", "x", true)});
  const auto chosen = SelectModelForRequest(table, "", kEmbed, {});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(chosen->model->id, "b");
  EXPECT_EQ(chosen->instead_of->id, "a");
  EXPECT_EQ(chosen->feature, Feature::kEmbeddings);
}

TEST(SelectModel, StructuredOutputIsSomethingThatARequestNeeds) {
  constexpr Feature kNeeds[] = {Feature::kChat, Feature::kStructuredOutput};
  auto cannot = std::make_shared<ServedModel>(*Model("a", "cuda", "x", false));
  cannot->capabilities.structured_output = false;
  const auto table = Table({cannot, Model("b", "cpu", "x", false)});
  EXPECT_EQ(SelectModelForRequest(table, "", kNeeds, {})->model->id, "b");
  const auto refused = SelectModelForRequest(table, "a", kNeeds, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("cannot do structured_output"));
}

TEST(SelectModel, PromptLogprobsAreSomethingThatARequestNeeds) {
  constexpr Feature kNeeds[] = {Feature::kCompletions, Feature::kPromptLogprobs};
  auto cannot = std::make_shared<ServedModel>(*Model("a", "cuda", "x", false));
  cannot->capabilities.prompt_logprobs = false;
  const auto table = Table({cannot, Model("b", "cpu", "x", false)});
  EXPECT_EQ(SelectModelForRequest(table, "", kNeeds, {})->model->id, "b");
  const auto refused = SelectModelForRequest(table, "a", kNeeds, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("cannot do prompt_logprobs"));
}

TEST(SelectModel, AnExplicitIdNeverSwitches) {
  const auto table = Table({Model("a", "cpu", "x", false), Model("b", "cpu", "x", true)});
  const auto refused = SelectModelForRequest(table, "a", kEmbed, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().why, Why::kMissingCapability);
  EXPECT_THAT(refused.error().message, HasSubstr("embeddings"));
  EXPECT_THAT(refused.error().message, HasSubstr("'a'"));
}

TEST(SelectModel, DeviceRankThenProviderThenIdDecides) {
  const auto rank =
      Table({Model("a", "cpu", "x", false), Model("b", "cpu", "x", true), Model("c", "cuda", "x", true, "llama_cpp")});
  EXPECT_EQ(SelectModelForRequest(rank, "", kEmbed, {})->model->id, "c");
  const auto provider =
      Table({Model("a", "cpu", "x", false), Model("b", "cpu", "x", true, "llama_cpp"), Model("c", "cpu", "x", true)});
  EXPECT_EQ(SelectModelForRequest(provider, "", kEmbed, {})->model->id, "c");
  const auto id = Table({Model("z", "cpu", "x", false), Model("c", "cpu", "x", true), Model("b", "cpu", "x", true)});
  EXPECT_EQ(SelectModelForRequest(id, "", kEmbed, {})->model->id, "b");
}

TEST(SelectModel, ThePolicyBoundsTheSwitch) {
  const auto table = Table({Model("a", "cpu", "x", false), Model("b", "cpu", "y", true)});
  EXPECT_FALSE(SelectModelForRequest(table, "", kEmbed, {}).has_value()) << "another file";
  EXPECT_TRUE(SelectModelForRequest(table, "", kEmbed, {.fallback_scope = FallbackScope::kAnyCompatible}).has_value());
  EXPECT_FALSE(SelectModelForRequest(table, "", kEmbed,
                                     {.allow_default_fallback = false, .fallback_scope = FallbackScope::kAnyCompatible})
                   .has_value());
}

TEST(SelectModel, AModelThatIsComingIsWorthWaitingForWhereThePolicySaysSo) {
  auto table = Table({Model("a", "cpu", "x", false)});
  table.coming = {{"b", "x"}};
  EXPECT_EQ(SelectModelForRequest(table, "", kEmbed, {}).error().why, Why::kMissingCapability);
  EXPECT_EQ(SelectModelForRequest(table, "", kEmbed, {.require_ready_backend = false}).error().why, Why::kNotReady);
}

TEST(SelectModel, ARefusalSaysWhatToDoInstead) {
  const auto refusal = [](auto change, Feature feature, RoutingPolicy policy = {}, const char* id = "a") {
    auto model = std::make_shared<ServedModel>(*Model("a", "cpu", "x", false));
    model->capabilities = {};
    change(model->capabilities);
    const Feature needs[] = {feature};
    const auto selected = SelectModelForRequest(Table({model}), id, needs, policy);
    if (selected) return std::string("selected");
    EXPECT_EQ(selected.error().feature, feature);
    EXPECT_EQ(selected.error().model->id, "a");
    return selected.error().message;
  };
  const auto none = [](auto&) {};
  EXPECT_EQ(refusal([](auto& can) { can.completions = true, can.chat = false; }, Feature::kChat),
            "the model 'a' on cpu cannot do chat (it has no chat template; use /v1/completions)");
  EXPECT_EQ(refusal([](auto& can) { can.completions = can.chat = false, can.scores = true; }, Feature::kChat),
            "the model 'a' on cpu cannot do chat (it is a classifier; use /v1/rerank, /score or /classify)");
  EXPECT_EQ(refusal([](auto& can) { can.completions = can.scores = false; }, Feature::kCompletions),
            "the model 'a' on cpu cannot do completions (it is an encoder; use /v1/embeddings)");
  EXPECT_EQ(refusal([](auto& can) { can.scores = false; }, Feature::kScores),
            "the model 'a' on cpu cannot do scores (it has no classification head; rerank with a model that has one, "
            "such as a "
            "cross-encoder)");
  const std::string embeddings =
      "the model 'a' on cpu cannot do embeddings (GET /v1/models says what each model can do)";
  EXPECT_EQ(refusal(none, Feature::kEmbeddings), embeddings);
  EXPECT_EQ(refusal(none, Feature::kEmbeddings, {}, ""),
            embeddings + ", and no other backend of the same file can (runtime.capability_routing.fallback_scope)");
  EXPECT_EQ(refusal(none, Feature::kEmbeddings, {.fallback_scope = FallbackScope::kAnyCompatible}, ""),
            embeddings + ", and no other loaded model can");
  EXPECT_EQ(refusal(none, Feature::kEmbeddings, {.allow_default_fallback = false}, "default"),
            embeddings + ", and runtime.capability_routing.allow_default_fallback is off");
}

TEST(SelectModel, OnlyAModelInTheScopeIsWorthWaitingFor) {
  auto table = Table({Model("a", "cpu", "x", false)});
  table.coming = {{"b", "y"}};
  EXPECT_EQ(SelectModelForRequest(table, "", kEmbed, {.require_ready_backend = false}).error().why,
            Why::kMissingCapability);
  const auto waits = SelectModelForRequest(
      table, "", kEmbed, {.require_ready_backend = false, .fallback_scope = FallbackScope::kAnyCompatible});
  EXPECT_EQ(waits.error().why, Why::kNotReady);
  EXPECT_EQ(waits.error().message, "a model that may do embeddings is still being loaded");
}

TEST(SelectModel, UnknownAndNoModels) {
  EXPECT_EQ(SelectModelForRequest(Table({}), "", kTalk, {}).error().why, Why::kNoModel);
  const auto unknown = SelectModelForRequest(Table({Model("tiny", "cpu", "x", false)}), "gpt-4", kTalk, {});
  EXPECT_EQ(unknown.error().why, Why::kUnknownModel);
  EXPECT_THAT(unknown.error().message, HasSubstr("tiny"));
}

}  // namespace
}  // namespace inferflux::serving
