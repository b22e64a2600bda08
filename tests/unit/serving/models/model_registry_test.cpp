#include "serving/models/model_registry.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

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

TEST(ModelRegistry, RemovingOneKeepsTheDefaultOfTheOthers) {
  for (const auto& [removed, right] :
       std::vector<std::pair<const char*, const char*>>{{"a", "b"}, {"b", "a"}, {"c", "b"}}) {
    ModelRegistry registry;
    ASSERT_TRUE(registry.Add(Named("a")));
    ASSERT_TRUE(registry.Add(Named("b"), true));
    ASSERT_TRUE(registry.Add(Named("c")));
    EXPECT_EQ(registry.default_id(), "b");
    EXPECT_EQ((*registry.Remove(removed))->id, removed);
    EXPECT_EQ(registry.default_id(), right) << removed;
    EXPECT_EQ(registry.List().size(), 2u);
    EXPECT_FALSE(registry.Find(removed));
    EXPECT_EQ(registry.Remove(removed).error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(registry.SetDefault(removed));
    EXPECT_TRUE(registry.SetDefault(registry.List()[1]->id));
    EXPECT_EQ(registry.default_id(), registry.List()[1]->id);
  }
  EXPECT_EQ(ModelRegistry().default_id(), "");
}

TEST(ModelRegistry, IdsAreTextThatALogCanHold) {
  const ModelRegistry registry;
  const std::string longest(256, 'x');
  for (const std::string& good :
       {std::string("a b"), std::string("org/name:7b"), longest, std::string("h\xc3\xa9"), std::string("a~")}) {
    EXPECT_TRUE(registry.CheckId(good)) << good;
  }
  for (const std::string& bad : {longest + "x", std::string(" a"), std::string("a "),
                                 std::string("a\x1f"
                                             "b"),
                                 std::string("a\x7f"), std::string("\xc3")}) {
    EXPECT_EQ(registry.CheckId(bad).error().message,
              "a model's id has 1 to 256 bytes of UTF-8, without control characters and without a space at an end")
        << bad;
  }
  for (const char* route : {"", "default"}) {
    EXPECT_EQ(registry.CheckId(route).error().message,
              std::string("a model cannot have the id '") + route + "': it names the default route");
  }
}

TEST(ModelRegistry, WithoutAModelNothingIsFound) {
  const auto found = ModelRegistry().Find("");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace inferflux::serving
