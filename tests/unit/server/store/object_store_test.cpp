#include "server/store/object_store.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace inferflux::server {
namespace {

StoredObject Object(std::string id, std::string body = "{}") {
  return {.id = std::move(id), .body = std::move(body), .history = "[]"};
}

TEST(ObjectStoreTest, AnOwnerSeesItsOwnObjectsByKind) {
  auto store = ObjectStore::Open("");
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE((*store)->Put("response", "ann", Object("a", "1")));
  ASSERT_TRUE((*store)->Put("response", "bob", Object("a", "2")));
  EXPECT_EQ((*store)->Get("response", "ann", "a")->body, "1");
  EXPECT_EQ((*store)->Get("response", "bob", "a")->body, "2");
  EXPECT_FALSE((*store)->Get("conversation", "ann", "a"));
  EXPECT_FALSE((*store)->Delete("response", "eve", "a"));
  EXPECT_TRUE((*store)->Delete("response", "ann", "a"));
  EXPECT_FALSE((*store)->Get("response", "ann", "a"));
  EXPECT_TRUE((*store)->Get("response", "bob", "a"));
}

TEST(ObjectStoreTest, TheOldestGoWhereThereAreTooMany) {
  auto store = ObjectStore::Open("", {.objects = 3, .bytes = 1000});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE((*store)->Put("response", "ann", Object(std::to_string(i))));
  EXPECT_FALSE((*store)->Get("response", "ann", "1"));
  EXPECT_TRUE((*store)->Get("response", "ann", "2"));
  ASSERT_TRUE((*store)->Put("response", "ann", Object("large", std::string(900, 'x'))));
  EXPECT_TRUE((*store)->Get("response", "ann", "large"));
  ASSERT_TRUE((*store)->Put("response", "ann", Object("larger", std::string(950, 'x'))));
  EXPECT_FALSE((*store)->Get("response", "ann", "large"));
  EXPECT_FALSE((*store)->Put("response", "ann", Object("huge", std::string(1001, 'x')))) << "more than all may have";
  EXPECT_TRUE((*store)->Get("response", "ann", "larger"));
}

TEST(ObjectStoreTest, BoundsCountBodiesAndHistoriesOfEachOwner) {
  auto store = *ObjectStore::Open("", {.objects = 2, .bytes = 10});
  const StoredObject five{.id = "a", .body = "123", .history = "45"};
  ASSERT_TRUE(store->Put("response", "ann", five));
  ASSERT_TRUE(store->Put("conversation", "ann", {.id = "b", .body = "12", .history = "345"}));
  EXPECT_TRUE(store->Get("response", "ann", "a")) << "both fit exactly";
  EXPECT_EQ(store->Get("conversation", "ann", "b")->history, "345");
  ASSERT_TRUE(store->Put("response", "bob", {.id = "c", .body = "1234567890", .history = ""}))
      << "each owner has its own room";
  EXPECT_TRUE(store->Get("response", "ann", "a"));
  ASSERT_TRUE(store->Put("response", "ann", {.id = "d", .body = "1", .history = ""}));
  EXPECT_FALSE(store->Get("response", "ann", "a")) << "two objects are the limit";
  ASSERT_TRUE(store->Put("response", "ann", {.id = "d", .body = "12", .history = "3"}))
      << "what is replaced counts once";
  EXPECT_TRUE(store->Get("conversation", "ann", "b"));
  ASSERT_TRUE(store->Put("response", "ann", {.id = "d", .body = "12", .history = "3456"}));
  EXPECT_FALSE(store->Get("conversation", "ann", "b")) << "one byte too many";
  const Status refused = store->Put("response", "ann", {.id = "e", .body = "123456", .history = "78901"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "it has 11 bytes, and at most 10 are stored for a key");
  EXPECT_EQ(store->Get("response", "ann", "d")->body, "12");
}

TEST(ObjectStoreTest, ObjectsExpire) {
  auto store = ObjectStore::Open("", {.lifetime = std::chrono::seconds(-1)});
  ASSERT_TRUE((*store)->Put("response", "ann", Object("a")));
  EXPECT_FALSE((*store)->Get("response", "ann", "a"));
}

TEST(ObjectStoreTest, AFileSurvives) {
  const std::string path = ::testing::TempDir() + "objects.db";
  std::filesystem::remove(path);
  { ASSERT_TRUE((*ObjectStore::Open(path))->Put("response", "ann", Object("a", "kept"))); }
  EXPECT_EQ((*ObjectStore::Open(path))->Get("response", "ann", "a")->body, "kept");
  const auto refused = ObjectStore::Open("/no/such/folder/objects.db");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/no/such/folder"), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace inferflux::server
