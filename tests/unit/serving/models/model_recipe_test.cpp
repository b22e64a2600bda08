#include "serving/models/model_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

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
}

}  // namespace
}  // namespace inferflux::serving
