#include "server/store/batch_store.h"

#include <gtest/gtest.h>

#include <string>

#include "server/store/file_store.h"

namespace inferflux::server {
namespace {

StoredFile NewFile(std::string id) { return {.id = std::move(id), .filename = "a.jsonl", .purpose = "batch"}; }

TEST(FileStoreTest, AnOwnerSeesItsOwnFilesPageByPage) {
  FileStore store(*OpenBatchDatabase(""));
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(store.Put("ann", NewFile(id), std::string("x\0y", 3)));
  EXPECT_EQ(store.Content("ann", "b"), std::string("x\0y", 3));
  EXPECT_FALSE(store.Get("bob", "b"));
  EXPECT_FALSE(store.Delete("bob", "b"));
  const auto first = store.List("ann", {.limit = 2});
  ASSERT_EQ(first->files.size(), 2u);
  EXPECT_EQ(first->files[0].id, "c");
  EXPECT_TRUE(first->has_more);
  const auto rest = store.List("ann", {.after = "b", .limit = 2});
  ASSERT_EQ(rest->files.size(), 1u);
  EXPECT_EQ(rest->files[0].id, "a");
  EXPECT_FALSE(rest->has_more);
  EXPECT_FALSE(store.List("bob", {.after = "b"}));
  EXPECT_TRUE(store.Delete("ann", "b"));
  EXPECT_FALSE(store.Content("ann", "b"));
}

TEST(FileStoreTest, AFileThatDoesNotFitIsRefusedAndNoneIsLost) {
  FileStore store(*OpenBatchDatabase(""), {.files = 2, .bytes = 10});
  ASSERT_TRUE(store.Put("ann", NewFile("a"), "12345678"));
  const auto large = store.Put("ann", NewFile("b"), "123");
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("hold 8 of the 10"), std::string::npos) << large.error().message;
  ASSERT_TRUE(store.Put("bob", NewFile("c"), "123")) << "each owner has its own room";
  ASSERT_TRUE(store.Put("ann", NewFile("d"), "12"));
  EXPECT_FALSE(store.Put("ann", NewFile("e"), "")) << "two files are the limit";
  EXPECT_TRUE(store.Get("ann", "a"));
}

TEST(FileStoreTest, FilesExpire) {
  FileStore store(*OpenBatchDatabase(""));
  ASSERT_TRUE(store.Put("ann", NewFile("a"), "1", std::chrono::seconds(-1)));
  EXPECT_FALSE(store.Get("ann", "a"));
  EXPECT_TRUE(store.List("ann", {})->files.empty());
}

TEST(BatchStoreTest, LinesAreTakenInOrderAndCounted) {
  const auto database = *OpenBatchDatabase("");
  BatchStore store(database);
  FileStore files(database, {.bytes = 12});
  ASSERT_TRUE(store.Add({.id = "batch", .owner = "ann", .input = "file", .body = "{}"}));
  ASSERT_TRUE(store.SetLines("batch", {{1, "x", "{1}"}, {4, "y", "{2}"}, {5, "z", "{3}"}}));
  EXPECT_TRUE(store.IsInput("ann", "file"));
  EXPECT_FALSE(store.IsInput("bob", "file"));
  EXPECT_EQ(store.NextLine("batch", 1)->custom_id, "y");
  ASSERT_TRUE(store.SetResult("batch", 4, true, "r4"));
  ASSERT_TRUE(store.SetResult("batch", 1, true, "r1"));
  ASSERT_TRUE(store.SetResult("batch", 1, false, "late")) << "the first result holds";
  EXPECT_FALSE(files.CheckRoom("ann", 0)) << "requests and results count";
  EXPECT_EQ(store.NextLine("batch", 0)->number, 5);
  ASSERT_TRUE(store.SetResult("batch", 5, false, "e5"));
  EXPECT_FALSE(store.NextLine("batch", 0));
  const BatchCounts counts = store.Counts("batch");
  EXPECT_EQ(counts.total, 3);
  EXPECT_EQ(counts.completed, 2);
  EXPECT_EQ(counts.failed, 1);
  EXPECT_EQ(store.Results("batch", true), "r1\nr4\n");
  EXPECT_EQ(store.Results("batch", false), "e5\n");
  ASSERT_TRUE(store.DropLines("batch"));
  EXPECT_TRUE(files.CheckRoom("ann", 12));
}

TEST(BatchStoreTest, WhatHasEndedIsNotUnfinished) {
  BatchStore store(*OpenBatchDatabase(""));
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(store.Add({.id = id, .owner = "ann", .input = "file", .expires = INT64_MAX, .body = "{}"}));
  }
  ASSERT_TRUE(store.Update({.id = "a", .owner = "ann", .unfinished = false, .body = "[1]"}));
  ASSERT_EQ(store.Unfinished().size(), 1u);
  EXPECT_EQ(store.Unfinished()[0].id, "b");
  EXPECT_EQ(store.CountUnfinished("ann"), 1);
  EXPECT_EQ(store.Get("ann", "a")->body, "[1]");
  EXPECT_FALSE(store.Get("bob", "a"));
  EXPECT_EQ(store.List("ann", "", 1)->batches[0].id, "b");
  EXPECT_TRUE(store.List("ann", "", 1)->has_more);
  EXPECT_EQ(store.List("ann", "b", 1)->batches[0].id, "a");
  EXPECT_FALSE(store.List("ann", "none", 1));
}

}  // namespace
}  // namespace inferflux::server
