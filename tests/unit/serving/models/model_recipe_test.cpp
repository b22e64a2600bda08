#include "serving/models/model_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "serving/generation/recipe_defaults.h"

namespace inferflux::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string RecipeError(std::string_view text) {
  const auto parsed = ParseRecipe(text, "/models/a.inferflux.json");
  return parsed ? "" : parsed.error().message;
}

TEST(ModelRecipeTest, WhatWasWrittenIsRead) {
  ModelRecipe recipe;
  recipe.from = "a.gguf";
  recipe.chat_template = "{{ messages }}";
  recipe.system = "Be brief.\n\"Please.\"";
  recipe.license = "MIT";
  recipe.messages = {{{"role", "user"}, {"content", "Hi"}}};
  recipe.context = 512;
  recipe.max_tokens = 7;
  recipe.stop = {"a", "b"};
  recipe.sampling = {{"temperature", 0.5}, {"seed", 3}};
  recipe.parameters = {{"stop", {"a", "b"}}};
  const auto read = ParseRecipe(RecipeJson(recipe), "a");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(RecipeJson(*read), RecipeJson(recipe));
  EXPECT_EQ(read->system, recipe.system);
  EXPECT_EQ(read->context, 512);
}

TEST(ModelRecipeTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(RecipeError("{"), HasSubstr("/models/a.inferflux.json"));
  EXPECT_THAT(RecipeError("{}"), HasSubstr("'from'"));
  EXPECT_THAT(RecipeError(R"({"from":"a","colour":1})"), HasSubstr("'colour'"));
  EXPECT_THAT(RecipeError(R"({"from":"a","context":-1})"), HasSubstr("'context'"));
  EXPECT_THAT(RecipeError(R"({"from":"a","stop":[""]})"), HasSubstr("'stop'"));
  EXPECT_THAT(RecipeError(R"({"from":"a","inferflux_recipe":2})"), HasSubstr("'inferflux_recipe'"));
  for (const char* from : {"../a.gguf", "/etc/passwd", "b/../../a", ".a", "x.inferflux.json", "no-such-file"}) {
    EXPECT_FALSE(BaseOf("/tmp/a.inferflux.json", {.from = from})) << from;
  }
}

TEST(ModelRecipeTest, EachMemberHasItsType) {
  const auto reads = [](const std::string& member) { return RecipeError(R"({"from":"a",)" + member + "}").empty(); };
  for (const char* good :
       {R"("context":0)", R"("context":16777216)", R"("max_tokens":16777216)", R"("messages":[])", R"("messages":[{}])",
        R"("stop":[])", R"("stop":["x"])", R"("sampling":{})", R"("parameters":{})", R"("inferflux_recipe":1)",
        R"("template":"")", R"("system":"")", R"("license":"")"}) {
    EXPECT_TRUE(reads(good)) << good;
  }
  for (const char* bad :
       {R"("context":16777217)", R"("max_tokens":-1)", R"("context":1.5)", R"("context":"1")", R"("messages":{})",
        R"("messages":[{},1])", R"("stop":"x")", R"("stop":["x",1])", R"("stop":["x",""])", R"("sampling":[])",
        R"("parameters":1)", R"("template":1)", R"("system":null)", R"("license":[])", R"("other":[])"}) {
    EXPECT_FALSE(reads(bad)) << bad;
  }
  EXPECT_EQ(RecipeError("[]"),
            "/models/a.inferflux.json: a recipe of a model must be a JSON object; create the model again");
  EXPECT_EQ(RecipeError(R"({"from":""})"), "/models/a.inferflux.json: the recipe names no file in 'from'");
  EXPECT_EQ(RecipeError(R"({"from":"a","stop":1})"),
            "/models/a.inferflux.json: the member 'stop' of a recipe is unknown or wrong; create the model again");
}

TEST(ModelRecipeTest, ItsValuesAreNotDeep) {
  const auto nested = [](int lists) {
    return R"({"from":"a","parameters":{"x":)" + std::string(lists, '[') + std::string(lists, ']') + "}}";
  };
  EXPECT_EQ(RecipeError(nested(62)), "");
  EXPECT_NE(RecipeError(nested(63)), "");
}

TEST(ModelRecipeTest, OnlyWhatIsSetIsWritten) {
  EXPECT_EQ(RecipeJson({.from = "a"}), R"({"inferflux_recipe":1,"from":"a"})");
  const std::string full =
      R"({"inferflux_recipe":1,"from":"a","template":"t","system":"s","license":"l","messages":[{}],"context":1,"max_tokens":1,)"
      R"("stop":["x"],"sampling":{"seed":3},"parameters":{"p":1}})";
  const auto read = ParseRecipe(full, "p");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(RecipeJson(*read), full);
}

TEST(ModelRecipeTest, AFileHasASizeAndABaseBesideIt) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "model_recipe_base";
  fs::remove_all(folder);
  fs::create_directories(folder / "models");
  const std::string path = (folder / "models" / "a.inferflux.json").string();
  const std::string text = RecipeJson({.from = "b.gguf"});
  std::ofstream(path) << text << std::string(kMostRecipeBytes - text.size(), ' ');
  EXPECT_EQ(ReadRecipe(path)->from, "b.gguf");
  std::ofstream(path, std::ios::app) << " ";
  EXPECT_THAT(ReadRecipe(path).error().message, HasSubstr("must be a file of at most"));
  EXPECT_EQ(ReadRecipe(path + ".none").error().code, ErrorCode::kDataLoss);
  std::ofstream(folder / "models" / "b.gguf") << "x";
  std::ofstream(folder / "out.gguf") << "x";
  fs::create_symlink(folder / "out.gguf", folder / "models" / "link.gguf");
  EXPECT_EQ(BaseOf(path, {.from = "b.gguf"}), (fs::canonical(folder) / "models" / "b.gguf").string());
  EXPECT_EQ(BaseOf(path, {.from = "c.gguf"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(BaseOf(path, {.from = "link.gguf"}).error().code, ErrorCode::kInvalidArgument);
  for (const char* from : {"x/b.gguf", ".b.gguf", "a.inferflux.json"})
    EXPECT_EQ(BaseOf(path, {.from = from}).error().code, ErrorCode::kDataLoss) << from;
  EXPECT_EQ(BaseOf((folder / "none" / "a.inferflux.json").string(), {.from = "b.gguf"}).error().code,
            ErrorCode::kDataLoss);
  fs::remove_all(folder);
}

ServedModel Made(ModelRecipe recipe) {
  ServedModel out;
  out.id = "made";
  out.recipe = std::make_shared<const ModelRecipe>(std::move(recipe));
  return out;
}

TEST(ModelRecipeTest, ARequestsOwnValuesHold) {
  const ServedModel model = Made({.from = "a",
                                  .max_tokens = 5,
                                  .stop = {"x"},
                                  .sampling = {{"temperature", 0.25}, {"top_k", 3}, {"seed", 9}, {"mirostat", 2}}});
  GenerationSpec spec;
  spec.sampling.params.temperature = 0.8f;  // an API's default
  spec.sampling.params.top_p = 0.9f;
  spec.sampling.params.top_k = 40;
  spec.sampling.given = {"top_k"};
  spec.max_tokens = 2;
  ASSERT_TRUE(ApplyRecipe(model, spec));
  EXPECT_EQ(spec.sampling.params.temperature, 0.25f);
  EXPECT_EQ(spec.sampling.params.top_k, 40);
  EXPECT_EQ(spec.sampling.seed, 9);
  EXPECT_EQ(spec.sampling.params.top_p, 1.0f) << "mirostat replaces the filters that the request did not set";
  EXPECT_EQ(spec.max_tokens, 2);
  EXPECT_THAT(spec.stop, ElementsAre("x"));
  GenerationSpec silent;
  ASSERT_TRUE(ApplyRecipe(model, silent));
  EXPECT_EQ(silent.max_tokens, 5);
  EXPECT_EQ(silent.sampling.params.top_k, 0) << "mirostat replaces it";
  EXPECT_TRUE(silent.sampling.params.mirostat);
  const auto refused = [](boost::json::object sampling) {
    GenerationSpec any;
    return !ApplyRecipe(Made({.from = "a", .sampling = std::move(sampling)}), any);
  };
  EXPECT_FALSE(refused({{"temperature", 2}}));
  EXPECT_FALSE(refused({{"temperature", 0}}));
  EXPECT_FALSE(refused({{"mirostat", 0}}));
  EXPECT_FALSE(refused({{"dry_sequence_breakers", {"a"}}}));
  EXPECT_TRUE(refused({{"temperature", 2.01}}));
  EXPECT_TRUE(refused({{"temperature", -0.01}}));
  EXPECT_TRUE(refused({{"temperature", "1"}}));
  EXPECT_TRUE(refused({{"mirostat", 1}}));
  EXPECT_TRUE(refused({{"seed", 0.5}}));
  EXPECT_TRUE(refused({{"top_k", -2}}));
  EXPECT_TRUE(refused({{"logit_bias", boost::json::object()}}));
  EXPECT_TRUE(refused({{"dry_sequence_breakers", {"a", 1}}}));
  EXPECT_TRUE(refused({{"dry_sequence_breakers", "a"}}));
  const auto wrong = ApplyRecipe(Made({.from = "a", .sampling = {{"temperature", 5}}}), spec);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("'temperature'"));
}

TEST(ModelRecipeTest, AChatBeginsWithItsMessages) {
  const ServedModel model = Made({.from = "a", .system = "S", .messages = {{{"role", "user"}, {"content", "first"}}}});
  const auto roles = [&](boost::json::array messages) {
    Chat chat;
    chat.messages = std::move(messages);
    ApplyRecipe(model, chat);
    std::string out;
    for (const auto& message : chat.messages) out += message.at("content").as_string().c_str() + std::string(" ");
    return out;
  };
  EXPECT_EQ(roles({{{"role", "user"}, {"content", "hi"}}}), "S first hi ");
  EXPECT_EQ(roles({{{"role", "system"}, {"content", "own"}}, {{"role", "user"}, {"content", "hi"}}}), "own first hi ");
  EXPECT_EQ(roles({{{"role", "developer"}, {"content", "own"}}}), "own first ");
  EXPECT_EQ(roles({}), "S first ");
}

}  // namespace
}  // namespace inferflux::serving
