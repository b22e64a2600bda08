#include "serving/models/model_registry.h"

#include <gtest/gtest.h>

namespace inferflux::serving {
namespace {

std::shared_ptr<const ServedModel> Named(std::string id) {
  auto model = std::make_shared<ServedModel>();
  model->id = std::move(id);
  return model;
}

TEST(ModelRegistry, AnAbsentModelIsTheDefaultRoute) {
  ModelRegistry registry;
  ASSERT_TRUE(registry.Add(Named("a")));
  ASSERT_TRUE(registry.Add(Named("b"), true));
  EXPECT_EQ((*registry.Find(""))->id, "b");
  EXPECT_EQ((*registry.Find("default"))->id, "b");
  EXPECT_EQ((*registry.Find("a"))->id, "a");
}

TEST(ModelRegistry, AnUnknownIdIsAnErrorThatListsTheModels) {
  ModelRegistry registry;
  ASSERT_TRUE(registry.Add(Named("tiny")));
  const auto found = registry.Find("gpt-4");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_NE(found.error().message.find("gpt-4"), std::string::npos);
  EXPECT_NE(found.error().message.find("tiny"), std::string::npos);
}

TEST(ModelRegistry, IdsAreUnique) {
  ModelRegistry registry;
  ASSERT_TRUE(registry.Add(Named("a")));
  EXPECT_FALSE(registry.Add(Named("a")));
  EXPECT_FALSE(registry.Add(Named("default")));
}

TEST(ModelRegistry, WithoutAModelNothingIsFound) {
  const auto found = ModelRegistry().Find("");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace inferflux::serving
