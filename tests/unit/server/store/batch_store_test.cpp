#include "server/store/batch_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <string>

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

TEST(FileStoreTest, AFileIsDescribedAsItWasPut) {
  FileStore store(*OpenBatchDatabase(""), {.lifetime = std::chrono::seconds(500)});
  const int64_t before = std::time(nullptr);
  const auto put = store.Put("ann", {.id = "a", .filename = "x.jsonl", .purpose = "batch"}, "12345");
  ASSERT_TRUE(put);
  EXPECT_GE(put->created, before);
  EXPECT_LE(put->created, std::time(nullptr));
  EXPECT_EQ(put->expires, put->created + 500);
  const auto got = store.Get("ann", "a");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, "a");
  EXPECT_EQ(got->filename, "x.jsonl");
  EXPECT_EQ(got->purpose, "batch");
  EXPECT_EQ(got->bytes, 5);
  EXPECT_EQ(got->created, put->created);
  EXPECT_EQ(got->expires, put->expires);
  const auto brief = store.Put("ann", NewFile("b"), "1", std::chrono::seconds(60));
  EXPECT_EQ(brief->expires, brief->created + 60);
  ASSERT_TRUE(store.Put("ann", {.id = "a", .filename = "y", .purpose = "other"}, "1"));
  EXPECT_EQ(store.Get("ann", "a")->filename, "y") << "it is replaced";
  EXPECT_EQ(store.List("ann", {})->files.size(), 2u);
}

TEST(FileStoreTest, AListHasAPurposeAndAnOrder) {
  FileStore store(*OpenBatchDatabase(""));
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(store.Put("ann", {.id = id, .filename = "f", .purpose = id[0] == 'b' ? "other" : "batch"}, "1"));
  }
  const auto ids = [&](const FileQuery& query) {
    std::string out;
    const auto page = store.List("ann", query);
    if (!page) return std::string("none");
    for (const StoredFile& file : page->files) out += file.id;
    return out + (page->has_more ? "+" : "");
  };
  EXPECT_EQ(ids({}), "cba");
  EXPECT_EQ(ids({.newest_first = false}), "abc");
  EXPECT_EQ(ids({.purpose = "batch"}), "ca");
  EXPECT_EQ(ids({.purpose = "none"}), "");
  EXPECT_EQ(ids({.after = "a", .newest_first = false}), "bc");
  EXPECT_EQ(ids({.after = "a", .limit = 1, .newest_first = false}), "b+");
  EXPECT_EQ(ids({.limit = 3}), "cba");
  EXPECT_EQ(ids({.limit = 2}), "cb+");
  EXPECT_EQ(ids({.after = "x"}), "none");
}

TEST(FileStoreTest, ResultsHaveRoomAndWhatHasExpiredGivesItsRoomBack) {
  FileStore store(*OpenBatchDatabase(""), {.files = 1, .bytes = 10});
  ASSERT_TRUE(store.Put("ann", NewFile("a"), "1234567890"));
  EXPECT_TRUE(store.CheckRoom("ann", 0));
  const Status full = store.CheckRoom("ann", 1);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(full.error().message,
            "it takes 1 bytes, and the key's files and batches hold 10 of the 10 that they may: delete some files");
  EXPECT_EQ(store.Put("ann", NewFile("b"), "").error().message, "a key may store 1 files, and has them: delete some");
  EXPECT_TRUE(store.PutResult("ann", NewFile("r"), "12345"));
  EXPECT_EQ(store.Content("ann", "r"), "12345");
  ASSERT_TRUE(store.Delete("ann", "a"));
  ASSERT_TRUE(store.Delete("ann", "r"));
  EXPECT_FALSE(store.Delete("ann", "r"));
  ASSERT_TRUE(store.PutResult("ann", NewFile("old"), "1234567890", std::chrono::seconds(-2)));
  EXPECT_TRUE(store.Put("ann", NewFile("new"), "1234567890"));
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

TEST(BatchStoreTest, ABatchIsReadAsItWasAddedAndForgottenOnceItHasEndedAndExpired) {
  BatchStore store(*OpenBatchDatabase(""));
  ASSERT_TRUE(store.Add({.id = "old", .owner = "ann", .input = "f", .expires = 5, .unfinished = false, .body = "{}"}));
  ASSERT_TRUE(store.Add({.id = "runs", .owner = "ann", .input = "g", .expires = 6, .unfinished = true, .body = "{1}"}));
  EXPECT_FALSE(store.Get("ann", "old")) << "the next one makes it go";
  const auto got = store.Get("ann", "runs");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, "runs");
  EXPECT_EQ(got->owner, "ann");
  EXPECT_EQ(got->input, "g");
  EXPECT_EQ(got->expires, 6);
  EXPECT_TRUE(got->unfinished);
  EXPECT_EQ(got->body, "{1}");
  ASSERT_TRUE(store.Add({.id = "next", .owner = "bob", .input = "g", .expires = 7, .unfinished = false, .body = "{}"}));
  EXPECT_TRUE(store.Get("ann", "runs")) << "what runs is not forgotten";
  EXPECT_TRUE(store.IsInput("ann", "g"));
  EXPECT_FALSE(store.IsInput("bob", "g")) << "that one has ended";
  EXPECT_FALSE(store.Add({.id = "runs", .owner = "ann", .input = "f", .body = "{}"})) << "ids are unique";
  EXPECT_EQ(store.CountUnfinished("bob"), 0);
  EXPECT_FALSE(store.List("ann", "", 1)->has_more);
}

TEST(BatchStoreTest, LinesAreReplacedAndReadWhole) {
  const auto database = *OpenBatchDatabase("");
  BatchStore store(database);
  FileStore files(database, {.bytes = 100});
  ASSERT_TRUE(store.Add({.id = "b", .owner = "ann", .input = "f", .body = "{}"}));
  ASSERT_TRUE(store.SetLines("b", {{1, "x", std::string(90, 'r')}}));
  EXPECT_FALSE(files.CheckRoom("ann", 11));
  EXPECT_TRUE(files.CheckRoom("ann", 10));
  ASSERT_TRUE(store.SetLines("b", {{2, "y", "{2}"}, {3, "z", "{3}"}}));
  EXPECT_TRUE(files.CheckRoom("ann", 94));
  EXPECT_FALSE(files.CheckRoom("ann", 95));
  const auto line = store.NextLine("b", 0);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->number, 2);
  EXPECT_EQ(line->custom_id, "y");
  EXPECT_EQ(line->request, "{2}");
  ASSERT_TRUE(store.SetResult("b", 2, false, "1234"));
  EXPECT_TRUE(files.CheckRoom("ann", 90));
  EXPECT_FALSE(files.CheckRoom("ann", 91));
  EXPECT_EQ(store.NextLine("b", 2)->number, 3);
  EXPECT_FALSE(store.NextLine("b", 3));
  EXPECT_EQ(store.Counts("b").completed, 0);
  EXPECT_EQ(store.Counts("b").failed, 1);
  EXPECT_EQ(store.Counts("none").total, 0);
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
