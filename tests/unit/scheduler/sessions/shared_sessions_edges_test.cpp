// When the store that machines share is asked, how long it is waited for, and what is taken of its answers.
#include <gtest/gtest.h>

#include "scheduler/sessions/sessions_bench.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;
using Action = SessionCommand::Action;

struct SessionStoreEdges : ::testing::Test {
  std::shared_ptr<ScriptedStore> store = std::make_shared<ScriptedStore>();
  SessionsBench bench{{.memory = 1 << 20, .store = store}};
};

TEST_F(SessionStoreEdges, TheStoreIsAskedFor33TokensThatAreNotHere) {
  const auto few = bench.Make("x", 32), enough = bench.Make("x", 33), other = bench.Make("y", 33);
  EXPECT_FALSE(bench.Awaits(*few));
  EXPECT_EQ(store->gets, 0);
  EXPECT_FALSE(bench.Awaits(*enough)) << "it has none, and says so at once";
  EXPECT_EQ(store->gets, 1);
  EXPECT_FALSE(bench.Awaits(*enough));
  EXPECT_EQ(store->gets, 1) << "once for a request";
  EXPECT_FALSE(bench.Awaits(*other));
  EXPECT_EQ(store->gets, 2) << "a session that is not there is no failure";
  EXPECT_EQ(bench.Errors(), 0);
  bench.Keep("z", 50);
  EXPECT_FALSE(bench.Awaits(*bench.Make("z", 82)));
  EXPECT_EQ(store->gets, 2) << "50 are here, the last one is computed anyway, and 31 are new";
  EXPECT_FALSE(bench.Awaits(*bench.Make("z", 83)));
  EXPECT_EQ(store->gets, 3);
  auto without = bench.Make("z", 90);
  without->spec.session.reset();
  EXPECT_FALSE(bench.Awaits(*without));
  EXPECT_EQ(store->gets, 3);
}

TEST_F(SessionStoreEdges, FourRequestsAtATimeAskAndWaitThreeSeconds) {
  bench.reader->held = true;
  std::vector<std::unique_ptr<Request>> all;
  for (int i = 0; i < 6; ++i) all.push_back(bench.Make(std::to_string(i), 50));
  EXPECT_FALSE(bench.sessions->next_expiry());
  for (const auto& request : all) EXPECT_TRUE(bench.Awaits(*request));
  EXPECT_EQ(bench.reader->waiting(), 4u);
  EXPECT_EQ(*bench.sessions->next_expiry(), bench.now + 3s);
  bench.reader->Run(1);
  bench.now += 1s;
  bench.sessions->Sweep(bench.now);
  EXPECT_FALSE(bench.Awaits(*all[0]));
  EXPECT_TRUE(bench.Awaits(*all[4]));
  EXPECT_TRUE(bench.Awaits(*all[5]));
  EXPECT_EQ(bench.reader->waiting(), 4u) << "the fifth asks now";
  bench.now += 2s - 1ns;
  EXPECT_TRUE(bench.Awaits(*all[1]));
  EXPECT_TRUE(bench.Awaits(*all[5]));
  bench.now += 1ns;
  EXPECT_FALSE(bench.Awaits(*all[1])) << "three seconds";
  EXPECT_TRUE(bench.Awaits(*all[4])) << "it has asked a second later";
  EXPECT_TRUE(bench.Awaits(*all[5])) << "the store has answered two seconds ago";
  bench.now += 1s;
  EXPECT_FALSE(bench.Awaits(*all[4]));
  EXPECT_FALSE(bench.Awaits(*all[5])) << "the store is silent";
  EXPECT_EQ(bench.reader->waiting(), 4u);
  for (const auto& request : all) bench.sessions->Release(*request);
  EXPECT_FALSE(bench.sessions->next_expiry());
}

TEST_F(SessionStoreEdges, AStoreThatFailsRestsForTenSecondsAndDamageIsNoFailure) {
  store->fails = ErrorCode::kDataLoss;
  EXPECT_FALSE(bench.Awaits(*bench.Make("a", 50)));
  EXPECT_FALSE(bench.Awaits(*bench.Make("a", 50)));
  EXPECT_EQ(store->gets, 2);
  EXPECT_EQ(bench.Errors(), 2);
  store->fails = ErrorCode::kIo;
  EXPECT_FALSE(bench.Awaits(*bench.Make("a", 50)));
  EXPECT_EQ(store->gets, 3);
  EXPECT_EQ(bench.Errors(), 3);
  bench.now += 10s - 1ns;
  EXPECT_FALSE(bench.Awaits(*bench.Make("a", 50)));
  bench.Keep("k", 12);
  EXPECT_EQ(bench.Do(Action::kSave, "k"), "error: the session store cannot take it now; try again");
  EXPECT_EQ(store->gets, 3);
  EXPECT_EQ(bench.Errors(), 3) << "it was not asked";
  bench.now += 1ns;
  store->fails.reset();
  EXPECT_FALSE(bench.Awaits(*bench.Make("a", 50)));
  EXPECT_EQ(store->gets, 4);
  EXPECT_EQ(bench.Do(Action::kSave, "k"), "k: 12 tokens in engine, 0 bytes, 99 s");
  EXPECT_EQ(store->blobs.size(), 1u);
}

TEST_F(SessionStoreEdges, AStateThatKnowsNoMoreIsNotTaken) {
  bench.Keep("s", 50);
  bench.sessions->Sweep(bench.now);
  const std::string stored = store->blobs.begin()->second;
  SessionsBench other({.memory = 1 << 20, .store = store});
  other.Keep("s", 50);
  other.sessions->Sweep(other.now);
  store->blobs.begin()->second = stored;
  EXPECT_FALSE(other.Awaits(*other.Make("s", 90)));
  EXPECT_EQ(other.List().find("s: 50 tokens in engine"), 0u) << "the same is in the store";
  SessionsBench less({.memory = 1 << 20, .store = store});
  less.Keep("s", 49);
  less.sessions->Sweep(less.now);
  store->blobs.begin()->second = stored;
  const int32_t used = static_cast<int32_t>(less.engine.usage().blocks_used);
  EXPECT_FALSE(less.Awaits(*less.Make("s", 90)));
  EXPECT_EQ(less.List().find("s: 50 tokens in memory, 200 bytes"), 0u) << less.List();
  EXPECT_GT(used, 0);
  EXPECT_EQ(less.engine.usage().blocks_used, 0) << "its own sequence is closed";
}

// What was fetched for a request is kept for it; a later state of the same session takes its place, and the first
// request's claim ends.
TEST_F(SessionStoreEdges, AFetchedStateIsHeldForOneRequestOnly) {
  for (int i = 0; i < 4; ++i) {
    bench.Keep(std::to_string(i), 50);
    bench.Keep(std::to_string(i), 100);
  }
  bench.sessions->Sweep(bench.now);
  SessionsBench two({.memory = 100, .store = store});
  const auto first = two.Make("0", 140), second = two.Make("1", 140), third = two.Make("2", 140);
  EXPECT_FALSE(two.Awaits(*first));
  EXPECT_FALSE(two.Awaits(*second));
  two.sessions->Sweep(two.now);
  EXPECT_EQ(two.List().substr(0, 36), "0: 100 tokens in memory, 400 bytes, ") << "although memory has 100";
  EXPECT_TRUE(two.Awaits(*third)) << "not more KV than of two at once";
  EXPECT_EQ(store->gets, 2);
  // The session is used by another request meanwhile: nothing is held for the first any more.
  two.Keep("0", 140);
  EXPECT_FALSE(two.Awaits(*third));
  EXPECT_EQ(store->gets, 3);
  two.sessions->Release(*second);
  two.sessions->Release(*third);
  two.sessions->Sweep(two.now);
  EXPECT_EQ(two.List().substr(0, 24), "0: 140 tokens in engine,");
  EXPECT_EQ(two.List().find("; "), std::string::npos)
      << "a session that no request waits for has no room: " << two.List();
}

// Two requests wait for the same session, and the state that the second has fetched is the newer one.
TEST_F(SessionStoreEdges, ANewerStateTakesTheClaimOfTheOlder) {
  bench.Keep("s", 50);
  bench.Keep("t", 50);
  bench.sessions->Sweep(bench.now);
  SessionsBench two({.memory = 0, .store = store});
  const auto first = two.Make("s", 140), second = two.Make("s", 150), third = two.Make("t", 140);
  EXPECT_FALSE(two.Awaits(*first));
  bench.Keep("s", 100);
  bench.sessions->Sweep(bench.now);
  EXPECT_FALSE(two.Awaits(*second));
  EXPECT_EQ(two.List().find("s: 100 tokens in memory, 400 bytes, "), 0u) << two.List();
  EXPECT_EQ(store->gets, 2);
  EXPECT_FALSE(two.Awaits(*third)) << "one claim is left, so there is room for another";
  EXPECT_EQ(store->gets, 3);
  two.sessions->Release(*first);
  two.sessions->Sweep(two.now);
  EXPECT_NE(two.List().find("s: 100 tokens in memory"), std::string::npos) << "the second still claims it";
  two.sessions->Release(*second);
  two.sessions->Sweep(two.now);
  EXPECT_EQ(two.List().find("t: 50 tokens in memory, 200 bytes, "), 0u) << two.List();
}

TEST_F(SessionStoreEdges, WhatIsUsedOnceLeavesTheStoreToo) {
  bench.Keep("a", 50);
  bench.sessions->Sweep(bench.now);
  ASSERT_EQ(store->blobs.size(), 1u);
  const auto plain = bench.Make("a", 60), once = bench.Make("a", 60, 'a', true);
  bench.sessions->Release(*plain);
  EXPECT_EQ(store->removes, 0);
  EXPECT_NE(bench.List(), "");
  bench.sessions->Release(*once);
  EXPECT_EQ(store->removes, 1);
  EXPECT_EQ(bench.List(), "");
  EXPECT_EQ(bench.engine.usage().blocks_used, 0);
}

TEST(SessionEdges, WhatTheStoreHasNoRoomForIsNotShared) {
  const auto store = std::make_shared<ScriptedStore>();
  SessionsBench bench({.store = store, .store_bytes = 200});
  bench.writer->held = true;
  bench.Keep("a", 51);
  EXPECT_EQ(bench.writer->waiting(), 0u) << "204 bytes";
  EXPECT_EQ(bench.Do(Action::kSave, "a"), "error: the session store cannot take it now; try again");
  bench.Keep("b", 30, 'b');
  bench.Keep("c", 20, 'c');
  EXPECT_EQ(bench.writer->waiting(), 2u) << "200 bytes";
  bench.Keep("d", 1, 'd');
  EXPECT_EQ(bench.writer->waiting(), 2u) << "no byte more until they are written";
  bench.writer->Run();
  bench.sessions->Sweep(bench.now);
  bench.Keep("d", 50, 'd');
  EXPECT_EQ(bench.writer->waiting(), 1u);
  EXPECT_EQ(store->blobs.size(), 2u);
}

}  // namespace
}  // namespace inferflux::scheduler
