// Ranks as threads of one program, which ThreadSanitizer sees, and what is refused.
#include "collective/collective.h"

#include <gmock/gmock.h>

#include <thread>

#include "collective/exercise.h"
#include "collective/shared_memory/shared_memory_collective.h"
#include "collective/shared_memory/waiting.h"
#include "collective/single_rank.h"

namespace inferflux::collective {
namespace {

using testing::HasSubstr;

std::vector<std::unique_ptr<SharedMemoryCollective>> JoinAll(int32_t size, int64_t slot_bytes) {
  auto segment = Segment::Create(size, slot_bytes);
  EXPECT_TRUE(segment) << segment.error().message;
  std::vector<std::unique_ptr<SharedMemoryCollective>> out;
  for (int32_t rank = 0; rank < size; ++rank) {
    auto joined = SharedMemoryCollective::Join(*segment, rank);
    EXPECT_TRUE(joined) << joined.error().message;
    out.push_back(std::move(*joined));
  }
  return out;
}

TEST(Collective, OneRankIsTheIdentity) {
  SingleRank alone;
  EXPECT_EQ(Exercise(alone, 1, 100), "");
}

TEST(Collective, ThreadsAgreeInEveryOperation) {
  for (const int32_t size : {1, 2, 3, 4}) {
    // A slot of 256 bytes holds 64 floats: most operations take several turns.
    auto ranks = JoinAll(size, 256);
    std::vector<std::string> wrong(ranks.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < ranks.size(); ++i) {
      threads.emplace_back([&, i] { wrong[i] = Exercise(*ranks[i], 20261125, 300); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(wrong, testing::Each(std::string())) << size << " ranks";
  }
}

TEST(Collective, CountingWrapsAround) {
  EXPECT_TRUE(Reached(3, 3));
  EXPECT_FALSE(Reached(2, 3));
  EXPECT_TRUE(Reached(1, 0xfffffffe));
  EXPECT_FALSE(Reached(0xfffffffe, 1));
}

TEST(Collective, RefusesAWrongWorld) {
  EXPECT_THAT(Segment::Create(0).error().message, HasSubstr("0 ranks: there may be 1 to 64"));
  EXPECT_THAT(Segment::Create(65).error().message, HasSubstr("65 ranks"));
  EXPECT_THAT(Segment::Create(2, 100).error().message, HasSubstr("slots of 100 bytes"));
  auto segment = Segment::Create(2);
  ASSERT_TRUE(segment);
  EXPECT_THAT(SharedMemoryCollective::Join(*segment, 2).error().message, HasSubstr("rank 2 of 2"));
  auto first = SharedMemoryCollective::Join(*segment, 0);
  ASSERT_TRUE(first);
  EXPECT_THAT(SharedMemoryCollective::Join(*segment, 0).error().message, HasSubstr("rank 0 has joined already"));
  EXPECT_THAT(Segment::Open((*segment)->descriptor(), 3).error().message,
              HasSubstr("the shared memory is of 2 ranks, and this one was started as one of 3"));
  EXPECT_TRUE(Segment::Open((*segment)->descriptor(), 2));
}

TEST(Collective, RefusesSizesThatDoNotFit) {
  auto ranks = JoinAll(2, 256);
  std::vector<std::byte> own(10), all(21);
  EXPECT_THAT(ranks[0]->AllGather(own, all).error().message, HasSubstr("10 bytes of each of 2 ranks do not fill 21"));
  EXPECT_THAT(ranks[0]->Broadcast(own, 2).error().message, HasSubstr("rank 2 of 2"));
  EXPECT_THAT(ranks[0]->Send(own, 0).error().message, HasSubstr("rank 0 cannot exchange with rank 0"));
}

TEST(Collective, RanksThatDoDifferentThingsFail) {
  auto ranks = JoinAll(2, 256);
  std::vector<float> values(3);
  std::vector<std::byte> bytes(12);
  Status first, second;
  std::thread other([&] { second = ranks[1]->Broadcast(bytes, 1); });
  first = ranks[0]->AllReduce(values, Reduction::kSum);
  other.join();
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().message,
              HasSubstr("rank 1 does a broadcast of 12 bytes where rank 0 does an all_reduce of 12 bytes"));
  EXPECT_FALSE(ranks[1]->Barrier());  // the failure is final, for both
  EXPECT_FALSE(ranks[0]->Barrier());
}

TEST(Collective, AnAbortReachesTheOthersWithItsReason) {
  auto ranks = JoinAll(2, 256);
  Status waiting;
  std::thread other([&] { waiting = ranks[1]->Barrier(); });
  ranks[0]->Abort({.code = ErrorCode::kResourceExhausted, .message = "rank 0 has no memory left"});
  other.join();
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(waiting.error().message, "rank 0 has no memory left");
  EXPECT_FALSE(ranks[0]->Barrier());
}

TEST(Collective, ARankThatLeavesEndsTheWaitOfOthers) {
  auto ranks = JoinAll(2, 256);
  Status waiting;
  std::thread other([&] { waiting = ranks[1]->Barrier(); });
  ranks[0].reset();
  other.join();
  ASSERT_FALSE(waiting);
  EXPECT_THAT(waiting.error().message, HasSubstr("rank 0 has left"));
}

}  // namespace
}  // namespace inferflux::collective
