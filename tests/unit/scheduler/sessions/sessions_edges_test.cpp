// Where a session's KV is after each call, in the engine, in memory and on disk, and each limit at its edge.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "scheduler/sessions/sessions_bench.h"

namespace inferflux::scheduler {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Action = SessionCommand::Action;

TEST(SessionEdges, AreListedInOrderWithWhereTheyAre) {
  SessionsBench bench({.memory = 100});
  bench.Keep("b", 10);
  bench.now += 30s;
  bench.Keep("c", 20, 'c');
  bench.now += 1s;
  bench.Keep("a", 25, 'b');
  EXPECT_EQ(bench.List(),
            "a: 25 tokens in engine, 0 bytes, 100 s; b: 10 tokens in engine, 0 bytes, 69 s; "
            "c: 20 tokens in engine, 0 bytes, 99 s");
  EXPECT_TRUE(bench.sessions->EvictLeastRecent());
  EXPECT_EQ(bench.List(),
            "a: 25 tokens in engine, 0 bytes, 100 s; b: 10 tokens in memory, 40 bytes, 69 s; "
            "c: 20 tokens in engine, 0 bytes, 99 s");
  EXPECT_TRUE(bench.sessions->EvictLeastRecent());
  EXPECT_EQ(bench.List(), "a: 25 tokens in engine, 0 bytes, 100 s; c: 20 tokens in memory, 80 bytes, 99 s")
      << "120 bytes are more than 100: the one that was used longest ago goes";
  EXPECT_TRUE(bench.sessions->EvictLeastRecent());
  EXPECT_EQ(bench.List(), "a: 25 tokens in memory, 100 bytes, 100 s") << "as many bytes as there may be";
  EXPECT_FALSE(bench.sessions->EvictLeastRecent());
  EXPECT_EQ(bench.engine.usage().blocks_used, 0);
  EXPECT_EQ(bench.Do(Action::kRestore, "a"), "a: 25 tokens in engine, 0 bytes, 100 s");
  EXPECT_EQ(bench.engine.usage().blocks_used, 7);
  EXPECT_EQ(bench.Do(Action::kDelete, "a"), "a: 25 tokens in engine, 0 bytes, 100 s");
  EXPECT_EQ(bench.engine.usage().blocks_used, 0);
}

TEST(SessionEdges, WhatIsUsedStaysLonger) {
  SessionsBench bench({.memory = 1000});
  for (const TokenId id : {'a', 'b', 'c'}) bench.Keep(std::string(1, static_cast<char>(id)), 10, id);
  const auto again = bench.Make("a", 14);
  const auto opened = bench.sessions->Open(*again, again->tokens, bench.now);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->cached_tokens, 10);
  bench.Do(Action::kRestore, "b");
  bench.sessions->EvictLeastRecent();
  EXPECT_EQ(bench.List(),
            "a: 10 tokens in engine, 0 bytes, 100 s; b: 10 tokens in engine, 0 bytes, 100 s; "
            "c: 10 tokens in memory, 40 bytes, 100 s");
  bench.sessions->EvictLeastRecent();
  EXPECT_EQ(bench.List(),
            "a: 10 tokens in memory, 40 bytes, 100 s; b: 10 tokens in engine, 0 bytes, 100 s; "
            "c: 10 tokens in memory, 40 bytes, 100 s");
}

TEST(SessionEdges, ANewTurnTakesThePlaceOfTheOneBefore) {
  SessionsBench bench({.memory = 1000});
  bench.Keep("a", 10);
  const auto next = bench.Make("a", 30);
  next->sequence = bench.sessions->Open(*next, next->tokens, bench.now)->sequence;
  bench.Compute(*next);
  bench.now += 50s;
  bench.sessions->Keep(*next, bench.now);
  EXPECT_EQ(bench.List(), "a: 30 tokens in engine, 0 bytes, 100 s");
  EXPECT_EQ(*bench.sessions->next_expiry(), bench.now + 100s);
  EXPECT_EQ(bench.engine.usage().blocks_used, 8) << "the sequence of before is closed";
  bench.sessions->EvictLeastRecent();
  EXPECT_EQ(bench.engine.usage().blocks_used, 0);
  bench.Keep("a", 40);
  bench.sessions->EvictLeastRecent();
  EXPECT_EQ(bench.List(), "a: 40 tokens in memory, 160 bytes, 100 s");
  bench.sessions->Sweep(bench.now + 100s - 1ns);
  EXPECT_NE(bench.List(), "");
  bench.sessions->Sweep(bench.now + 100s);
  EXPECT_EQ(bench.List(), "");
}

TEST(SessionEdges, ARestoreTakesTheRoomOfOthers) {
  SessionsBench bench({.memory = 1000, .blocks = 20});
  bench.Keep("a", 40, 'a');
  bench.sessions->EvictLeastRecent();
  bench.Keep("b", 30, 'b');
  bench.Keep("c", 30, 'c');
  EXPECT_EQ(bench.Do(Action::kRestore, "a"), "a: 40 tokens in engine, 0 bytes, 100 s");
  EXPECT_EQ(bench.List(),
            "a: 40 tokens in engine, 0 bytes, 100 s; b: 30 tokens in memory, 120 bytes, 100 s; "
            "c: 30 tokens in engine, 0 bytes, 100 s");
  const auto busy = bench.engine.Open({}, 0)->sequence;  // a request that runs
  EXPECT_TRUE(bench.sessions->EvictLeastRecent());
  EXPECT_TRUE(bench.sessions->EvictLeastRecent());
  ASSERT_TRUE(bench.engine.Reserve(busy, 60));
  EXPECT_EQ(bench.Do(Action::kRestore, "a").find("error: the KV store lacks "), 0u);
  EXPECT_EQ(bench.List().find("a: 40 tokens in memory, 160 bytes"), 0u) << "it stays where it was";
}

struct SessionDiskEdges : ::testing::Test {
  SessionDiskEdges() { fs::remove_all(directory); }
  ~SessionDiskEdges() override { fs::remove_all(directory); }
  const std::string directory = ::testing::TempDir() + "session-edges-" + std::to_string(::getpid());
};

TEST_F(SessionDiskEdges, FilesAreSessionsFromTheStartInTheOrderOfTheirUse) {
  int64_t file = 0;
  {
    SessionsBench bench({.directory = directory});
    bench.Keep("a", 10);
    bench.Keep("b", 20, 'b');
    EXPECT_EQ(bench.Do(Action::kSave, "b"), "b: 20 tokens in engine, 0 bytes and a file, 100 s");
    EXPECT_EQ(bench.Do(Action::kSave, "a"), "a: 10 tokens in engine, 0 bytes and a file, 100 s");
    EXPECT_EQ(bench.Do(Action::kSave, "a"), "a: 10 tokens in engine, 0 bytes and a file, 100 s") << "at once";
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.is_regular_file()) file += static_cast<int64_t>(entry.file_size());
    }
  }
  EXPECT_EQ(file, 2 * (64 + 1 + 8) + 30 * 4 + 30 * 4) << "heads, ids and checksums, tokens, KV";
  SessionsBench bench({.memory = 1000, .directory = directory});
  const auto expires = *bench.sessions->next_expiry() - bench.now;
  EXPECT_GT(expires, 90s);
  EXPECT_LE(expires, 101s);
  const std::string list = bench.List();
  EXPECT_EQ(list.find("a: 10 tokens in disk, 153 bytes and a file, "), 0u) << list;
  EXPECT_NE(list.find("; b: 20 tokens in disk, 233 bytes and a file, "), std::string::npos) << list;
  EXPECT_EQ(bench.Do(Action::kRestore, "a").find("a: 10 tokens in engine, 0 bytes and a file, "), 0u);
  bench.sessions->EvictLeastRecent();
  EXPECT_EQ(bench.List().find("a: 10 tokens in disk, 153 bytes and a file, "), 0u) << "memory needs no copy";
}

TEST_F(SessionDiskEdges, EachCommandThatWaitsIsAnsweredForWhatHappened) {
  SessionsBench bench({.memory = 1000, .directory = directory});
  bench.Keep("a", 10);
  bench.disk->held = true;
  std::vector<std::string> replies;
  const auto ask = [&](Action action) {
    bench.sessions->Do({.action = action, .id = "a"}, bench.now,
                       [&](auto reply) { replies.push_back(SessionsBench::Said(reply)); });
  };
  ask(Action::kSave);
  ask(Action::kSave);
  EXPECT_EQ(bench.disk->waiting(), 1u) << "one write for both";
  EXPECT_TRUE(replies.empty());
  bench.disk->Run();
  bench.sessions->Sweep(bench.now);
  EXPECT_EQ(replies, std::vector<std::string>(2, "a: 10 tokens in engine, 0 bytes and a file, 100 s"));
  replies.clear();
  bench.sessions->EvictLeastRecent();
  EXPECT_EQ(bench.List(), "a: 10 tokens in disk, 153 bytes and a file, 100 s");
  ask(Action::kRestore);
  ask(Action::kRestore);
  EXPECT_EQ(bench.disk->waiting(), 1u) << "one read for both";
  ask(Action::kDelete);
  EXPECT_EQ(replies, (std::vector<std::string>{"error: the session 'a' is gone", "error: the session 'a' is gone",
                                               "a: 10 tokens in disk, 153 bytes and a file, 100 s"}));
  bench.disk->Run();
  bench.sessions->Sweep(bench.now);
  EXPECT_EQ(bench.List(), "");
  EXPECT_EQ(bench.Errors(), 0);
}

TEST_F(SessionDiskEdges, AFileThatCannotBeReadOrWrittenIsCounted) {
  SessionsBench bench({.memory = 0, .directory = directory});
  bench.Keep("a", 10);
  bench.Do(Action::kSave, "a");
  bench.sessions->EvictLeastRecent();
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) fs::resize_file(entry.path(), 60);
  }
  EXPECT_EQ(bench.Do(Action::kRestore, "a").find("error: the session file "), 0u);
  EXPECT_EQ(bench.List(), "");
  EXPECT_EQ(bench.Errors(), 1);
  bench.Keep("b", 10, 'b');
  fs::remove_all(directory);
  EXPECT_EQ(bench.Do(Action::kSave, "b").find("error: cannot write the session file "), 0u);
  EXPECT_EQ(bench.List(), "b: 10 tokens in engine, 0 bytes, 100 s") << "it stays where it was";
  EXPECT_EQ(bench.Errors(), 2);
  bench.sessions->EvictLeastRecent();
  bench.sessions->Sweep(bench.now);
  EXPECT_EQ(bench.List(), "") << "there is no room for it";
  EXPECT_EQ(bench.Errors(), 3);
}

TEST_F(SessionDiskEdges, WhatIsLargerThanTheDiskMayHoldIsRefused) {
  SessionsBench bench({.memory = 0, .directory = directory, .disk_bytes = 233});
  bench.Keep("a", 21);
  EXPECT_EQ(bench.Do(Action::kSave, "a"),
            "error: the session takes 241 bytes on disk, and runtime.session_disk allows 233 for all of them");
  bench.Keep("b", 20, 'b');
  EXPECT_EQ(bench.Do(Action::kSave, "b"), "b: 20 tokens in engine, 0 bytes and a file, 100 s");
  bench.sessions->EvictLeastRecent();
  bench.Keep("c", 10, 'c');
  EXPECT_EQ(bench.Do(Action::kSave, "c"), "c: 10 tokens in engine, 0 bytes and a file, 100 s");
  EXPECT_EQ(bench.List(), "b: 20 tokens in engine, 0 bytes, 100 s; c: 10 tokens in engine, 0 bytes and a file, 100 s");
  EXPECT_EQ(bench.Errors(), 0) << "a lack of room is no error of a file";
}

}  // namespace
}  // namespace inferflux::scheduler
