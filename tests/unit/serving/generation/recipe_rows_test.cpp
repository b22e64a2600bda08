// Each sampling parameter in a recipe, at the ends of its range, and the filters that mirostat replaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "serving/generation/recipe_defaults.h"
#include "serving/generation/sampling_table.h"
#include "serving/models/model_recipe.h"

namespace inferflux::serving {
namespace {

using ::testing::ElementsAre;

ServedModel MadeWith(boost::json::object sampling) {
  ServedModel out;
  out.id = "made";
  out.recipe =
      std::make_shared<const ModelRecipe>(ModelRecipe{.from = "a", .stop = {"r"}, .sampling = std::move(sampling)});
  return out;
}

TEST(RecipeRowsTest, ANumberMayBeAtEachEndOfItsRange) {
  for (const SamplingRow& row : SamplingTable()) {
    const bool number = std::holds_alternative<float engine::SamplingParams::*>(row.member);
    const bool whole = std::holds_alternative<int32_t engine::SamplingParams::*>(row.member);
    if (!number && !whole) continue;
    const auto applied = [&](double value) -> std::optional<double> {
      GenerationSpec spec;
      const auto status = ApplyRecipe(MadeWith({{row.name, value}}), spec);
      if (!status) {
        EXPECT_EQ(status.error().message, "'made' has a recipe whose '" + std::string(row.name) +
                                              "' is out of its range; create the model again");
        return std::nullopt;
      }
      const auto& params = spec.sampling.params;
      if (number) return params.*std::get<float engine::SamplingParams::*>(row.member);
      return params.*std::get<int32_t engine::SamplingParams::*>(row.member);
    };
    EXPECT_EQ(applied(row.min), number ? static_cast<float>(row.min) : row.min) << row.name;
    EXPECT_EQ(applied(row.max), number ? static_cast<float>(row.max) : row.max) << row.name;
    EXPECT_FALSE(applied(row.min - 0.5)) << row.name;
    EXPECT_FALSE(applied(row.max + 0.5)) << row.name;
  }
}

TEST(RecipeRowsTest, OtherValuesAreThoseOfTheirTypes) {
  GenerationSpec spec;
  ASSERT_TRUE(ApplyRecipe(MadeWith({{"seed", -7}, {"dry_sequence_breakers", {"x", "y"}}, {"mirostat", 2}}), spec));
  EXPECT_EQ(spec.sampling.seed, -7);
  EXPECT_THAT(spec.sampling.dry_sequence_breakers, ElementsAre("x", "y"));
  EXPECT_TRUE(spec.sampling.params.mirostat);
  EXPECT_THAT(spec.stop, ElementsAre("r"));
  GenerationSpec own{.stop = {"own"}};
  own.sampling.params.mirostat = true;
  ASSERT_TRUE(ApplyRecipe(MadeWith({{"mirostat", 0}}), own));
  EXPECT_FALSE(own.sampling.params.mirostat);
  EXPECT_THAT(own.stop, ElementsAre("own"));
}

TEST(RecipeRowsTest, MirostatOfARecipeEndsTheFiltersThatNobodyAskedFor) {
  const auto filters = [](boost::json::object recipe, std::vector<std::string_view> given) {
    GenerationSpec spec;
    auto& params = spec.sampling.params;
    params.top_k = 5;
    params.top_p = params.min_p = params.typical_p = params.xtc_probability = 0.5f;
    params.temperature = 0.5f;
    params.top_n_sigma = params.xtc_threshold = 0.25f;
    spec.sampling.given = std::move(given);
    EXPECT_TRUE(ApplyRecipe(MadeWith(std::move(recipe)), spec));
    EXPECT_EQ(params.temperature, 0.5f) << "no filter";
    EXPECT_EQ(params.top_n_sigma, 0.25f);
    EXPECT_EQ(params.xtc_threshold, 0.25f);
    return std::vector<double>{static_cast<double>(params.top_k), params.top_p, params.min_p, params.typical_p,
                               params.xtc_probability};
  };
  EXPECT_THAT(filters({{"mirostat", 2}}, {}), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(filters({{"mirostat", 2}}, {"top_k", "min_p"}), ElementsAre(5, 1, 0.5, 1, 0));
  EXPECT_THAT(filters({}, {}), ElementsAre(5, 0.5, 0.5, 0.5, 0.5));
}

TEST(RecipeRowsTest, EachFilterIsNamedThatMirostatReplaces) {
  const auto named = [](auto member, auto value) {
    engine::SamplingParams params{.mirostat = true};
    params.*member = value;
    const SamplingRow* row = ReplacedByMirostat(params);
    return row == nullptr ? std::string("none") : std::string(row->name);
  };
  using Params = engine::SamplingParams;
  EXPECT_EQ(named(&Params::top_k, 5), "top_k");
  EXPECT_EQ(named(&Params::top_p, 0.5f), "top_p");
  EXPECT_EQ(named(&Params::min_p, 0.5f), "min_p");
  EXPECT_EQ(named(&Params::typical_p, 0.5f), "typical_p");
  EXPECT_EQ(named(&Params::xtc_probability, 0.5f), "xtc_probability");
  EXPECT_EQ(named(&Params::temperature, 0.5f), "none");
  EXPECT_EQ(named(&Params::top_n_sigma, 0.5f), "none");
  EXPECT_EQ(named(&Params::xtc_threshold, 0.25f), "none");
  EXPECT_EQ(named(&Params::dry_multiplier, 0.5f), "none");
}

}  // namespace
}  // namespace inferflux::serving
