// What one rank refuses without the others, and how it learns that another has failed, left or died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "collective/collective.h"
#include "collective/mpi/mpi_job.h"
#include "collective/shared_memory/shared_memory_collective.h"
#include "collective/single_rank.h"

namespace inferflux::collective {
namespace {

using Joined = std::vector<std::unique_ptr<SharedMemoryCollective>>;

Joined Join(const std::shared_ptr<Segment>& segment) {
  Joined out;
  for (int32_t rank = 0; rank < segment->ranks(); ++rank) {
    auto joined = SharedMemoryCollective::Join(segment, rank);
    EXPECT_TRUE(joined) << joined.error().message;
    out.push_back(std::move(*joined));
  }
  return out;
}
std::shared_ptr<Segment> Job(int32_t ranks) {
  auto segment = Segment::Create(ranks, 256);
  EXPECT_TRUE(segment) << segment.error().message;
  return *segment;
}
std::string Text(const Status& status) { return status ? "done" : status.error().message; }

TEST(CheckRank, NumbersRanksFromZeroBelowTheirNumber) {
  EXPECT_EQ(Text(CheckRank(0, 1)), "done");
  EXPECT_EQ(Text(CheckRank(63, 64)), "done");
  EXPECT_EQ(Text(CheckRank(0, 64)), "done");
  EXPECT_EQ(Text(CheckRank(0, 65)), "65 ranks: there may be 1 to 64");
  EXPECT_EQ(Text(CheckRank(0, 0)), "0 ranks: there may be 1 to 64");
  EXPECT_EQ(Text(CheckRank(-1, 2)), "rank -1 of 2: they are numbered from 0 to 1");
  EXPECT_EQ(Text(CheckRank(2, 2)), "rank 2 of 2: they are numbered from 0 to 1");
  EXPECT_EQ(CheckRank(2, 2).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(CheckRank(0, 65).error().code, ErrorCode::kInvalidArgument);
}

TEST(Collective, ReducesElementByElement) {
  std::vector<float> values = {1, -2, 3};
  Reduce(values, std::vector<float>{4, -5, -6}, Reduction::kSum);
  EXPECT_EQ(values, (std::vector<float>{5, -7, -3}));
  Reduce(values, std::vector<float>{4, -5, -6}, Reduction::kMax);
  EXPECT_EQ(values, (std::vector<float>{5, -5, -3}));
}

// Counts what reaches the transport.
class CountedTransport final : public Collective {
 public:
  explicit CountedTransport(int32_t size) : Collective(0, size) {}
  std::string name() const override { return "counted"; }
  int calls = 0;

 private:
  Status Call() {
    ++calls;
    return {};
  }
  Status DoAllReduce(std::span<float>, Reduction) override { return Call(); }
  Status DoAllGather(std::span<const std::byte>, std::span<std::byte>) override { return Call(); }
  Status DoBroadcast(std::span<std::byte>, int32_t) override { return Call(); }
  Status DoSend(std::span<const std::byte>, int32_t) override { return Call(); }
  Status DoReceive(std::span<std::byte>, int32_t) override { return Call(); }
  void DoAbort(const Error&) override { ++calls; }
};

TEST(Collective, TheTransportIsForSeveralRanksWithSomethingToSay) {
  for (const auto& [ranks, length, calls] : {std::tuple{1, 0, 0}, {1, 4, 0}, {2, 0, 0}, {2, 4, 1}}) {
    CountedTransport own(ranks);
    std::vector<float> values(static_cast<size_t>(length));
    std::vector<std::byte> bytes(static_cast<size_t>(length)), all(static_cast<size_t>(length * ranks));
    EXPECT_TRUE(own.AllReduce(values, Reduction::kSum));
    EXPECT_EQ(own.calls, calls) << ranks << " " << length;
    EXPECT_TRUE(own.AllGather(bytes, all));
    EXPECT_EQ(own.calls, 2 * calls) << ranks << " " << length;
    EXPECT_TRUE(own.Broadcast(bytes, 0));
    EXPECT_EQ(own.calls, 3 * calls) << ranks << " " << length;
    if (ranks == 1) continue;
    EXPECT_TRUE(own.Send(bytes, 1));
    EXPECT_TRUE(own.Receive(bytes, 1));
    EXPECT_EQ(own.calls, 5 * calls) << ranks << " " << length;
  }
  for (const int32_t ranks : {1, 2}) {
    CountedTransport own(ranks);
    own.Abort({ErrorCode::kIo, "lost"});
    own.Abort({ErrorCode::kIo, "again"});
    EXPECT_EQ(own.calls, ranks - 1) << "once, where others are to know";
    EXPECT_EQ(Text(own.AllGather({}, {})), "lost");
  }
}

TEST(Collective, RefusesWhatHasNoMeaningAndGoesOn) {
  Joined ranks = Join(Job(2));
  Collective& own = *ranks[1];
  EXPECT_EQ(own.name(), "shared memory");
  std::vector<std::byte> ten(10), some(21);
  EXPECT_EQ(Text(own.AllGather(ten, some)), "10 bytes of each of 2 ranks do not fill 21");
  EXPECT_EQ(Text(own.AllGather(ten, std::span(some).first(10))), "10 bytes of each of 2 ranks do not fill 10");
  EXPECT_EQ(Text(own.Broadcast(ten, 2)), "rank 2 of 2: they are numbered from 0 to 1");
  EXPECT_EQ(Text(own.Broadcast(ten, -1)), "rank -1 of 2: they are numbered from 0 to 1");
  for (const int32_t peer : {-1, 1, 2}) {
    const std::string right = "rank 1 cannot exchange with rank " + std::to_string(peer) + " of 2";
    EXPECT_EQ(Text(own.Send(ten, peer)), right);
    EXPECT_EQ(Text(own.Receive(ten, peer)), right);
    EXPECT_EQ(own.Receive(ten, peer).error().code, ErrorCode::kInvalidArgument);
  }
  // Nothing needs no other rank.
  EXPECT_EQ(Text(own.Send({}, 0)), "done");
  EXPECT_EQ(Text(own.Receive({}, 0)), "done");
  EXPECT_EQ(Text(own.Broadcast({}, 0)), "done");
  EXPECT_EQ(Text(own.AllGather({}, {})), "done");
  EXPECT_EQ(Text(own.AllReduce({}, Reduction::kSum)), "done");
  EXPECT_EQ(Text(own.Health()), "done");
  std::thread other([&] { EXPECT_EQ(Text(ranks[0]->Barrier()), "done"); });
  EXPECT_EQ(Text(own.Barrier()), "done");
  other.join();
}

TEST(Collective, TheFirstReasonToGiveUpStays) {
  SingleRank alone;
  std::vector<std::byte> own(3, std::byte{5}), all(3), four(4);
  EXPECT_EQ(Text(alone.AllGather(own, all)), "done");
  EXPECT_EQ(all, own);
  EXPECT_EQ(Text(alone.AllGather(own, four)), "3 bytes of each of 1 ranks do not fill 4");
  alone.Abort({ErrorCode::kCancelled, "first"});
  alone.Abort({ErrorCode::kInternal, "second"});
  std::vector<float> values(1);
  EXPECT_EQ(Text(alone.AllReduce(values, Reduction::kSum)), "first");
  EXPECT_EQ(Text(alone.AllGather(own, all)), "first");
  EXPECT_EQ(Text(alone.Broadcast(own, 0)), "first");
  EXPECT_EQ(Text(alone.Barrier()), "first");
  EXPECT_EQ(Text(alone.Send(own, 1)), "first");
  EXPECT_EQ(Text(alone.Receive(own, 1)), "first");
  Joined ranks = Join(Job(2));
  ranks[0]->Abort({ErrorCode::kCancelled, "first"});
  ranks[0]->Abort({ErrorCode::kInternal, "second"});
  EXPECT_EQ(Text(ranks[1]->Health()), "first");
  EXPECT_EQ(Text(ranks[1]->Barrier()), "first");
}

TEST(Collective, AMessageOfAnotherSizeThanExpectedFailsForBoth) {
  Joined ranks = Join(Job(2));
  EXPECT_EQ(Text(ranks[0]->Send(std::vector<std::byte>(4), 1)), "done");
  std::vector<std::byte> eight(8);
  const Status received = ranks[1]->Receive(eight, 0);
  EXPECT_EQ(Text(received), "rank 0 sends 4 bytes, and rank 1 receives 8");
  EXPECT_EQ(received.error().code, ErrorCode::kInternal);
  EXPECT_EQ(Text(ranks[0]->Health()), Text(received));
  EXPECT_EQ(Text(ranks[1]->Receive(eight, 0)), Text(received)) << "it stays so";
}

TEST(Collective, SumsOfDifferentSizesAndRootsThatDifferAreSeen) {
  Joined two = Join(Job(2));
  std::vector<float> three(3), four(4);
  Status second;
  std::thread other([&] { second = two[1]->AllReduce(four, Reduction::kSum); });
  const Status first = two[0]->AllReduce(three, Reduction::kSum);
  other.join();
  EXPECT_FALSE(first);
  EXPECT_FALSE(second);
  EXPECT_THAT(Text(two[0]->Health()),
              ::testing::AnyOf("rank 1 does an all_reduce of 16 bytes where rank 0 does an all_reduce of 12 bytes",
                               "rank 0 does an all_reduce of 12 bytes where rank 1 does an all_reduce of 16 bytes"));
  Joined ranks = Join(Job(3));
  std::vector<std::byte> bytes(12);
  EXPECT_EQ(Text(ranks[0]->Broadcast(bytes, 0)), "done");
  EXPECT_EQ(Text(ranks[1]->Broadcast(bytes, 0)), "done");
  EXPECT_EQ(Text(ranks[2]->Broadcast(bytes, 1)),
            "rank 1 does a broadcast of 12 bytes where rank 2 does a broadcast of 12 bytes");
}

TEST(Collective, AnotherOperationOfTheSameSizeIsSeen) {
  Joined ranks = Join(Job(2));
  std::vector<std::byte> bytes(12);
  std::vector<float> values(3);
  ASSERT_EQ(Text(ranks[0]->Broadcast(bytes, 0)), "done");
  const Status failed = ranks[1]->AllReduce(values, Reduction::kSum);
  EXPECT_EQ(Text(failed), "rank 0 does a broadcast of 12 bytes where rank 1 does an all_reduce of 12 bytes");
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  Joined others = Join(Job(2));
  ASSERT_EQ(Text(others[0]->Broadcast(bytes, 0)), "done");
  EXPECT_EQ(Text(others[1]->Barrier()),
            "rank 0 does a broadcast of 12 bytes where rank 1 does an all_gather of 1 bytes");
}

TEST(Collective, SaysOfAnotherRankThatItHasLeftOrDied) {
  for (const int32_t own : {0, 1}) {
    const int32_t other = 1 - own;
    const auto left = Job(2);
    Joined ranks = Join(left);
    ranks[static_cast<size_t>(other)].reset();
    EXPECT_EQ(Text(ranks[static_cast<size_t>(own)]->Health()), "rank " + std::to_string(other) + " has left");

    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    for (const bool joined : {true, false}) {  // one that died before it came is lost as well
      const auto died = Job(2);
      auto alone = SharedMemoryCollective::Join(died, own);
      ASSERT_TRUE(alone);
      EXPECT_EQ(Text((*alone)->Health()), "done") << "the other may still come";
      if (joined) died->rank(other).state = SharedRank::kJoined;
      died->rank(other).process = child;
      const std::string right =
          "rank " + std::to_string(other) + " of 2 has died (process " + std::to_string(child) + ")";
      EXPECT_EQ(Text((*alone)->Health()), right);
      EXPECT_EQ((*alone)->Health().error().code, ErrorCode::kUnavailable);
      EXPECT_EQ(Text((*alone)->Barrier()), right);
      EXPECT_EQ(Text(died->failed()), right) << "all get to know it";
    }
  }
}

TEST(MpiJob, IsThereWhereMpirunSaysSo) {
  const auto with = [](const char* name, const char* value) {
    ::unsetenv("OMPI_COMM_WORLD_SIZE");
    ::unsetenv("PMI_SIZE");
    if (name != nullptr) ::setenv(name, value, 1);
    return StartedByMpirun();
  };
  EXPECT_FALSE(with("OMPI_COMM_WORLD_SIZE", "1"));
  EXPECT_FALSE(with("OMPI_COMM_WORLD_SIZE", "many"));
  EXPECT_FALSE(with("PMI_SIZE", "1"));
  EXPECT_TRUE(with("PMI_SIZE", "2"));
  EXPECT_TRUE(with("OMPI_COMM_WORLD_SIZE", "2"));
  EXPECT_TRUE(with("OMPI_COMM_WORLD_SIZE", "12"));
  if (MpiLibrary().empty()) {  // a build without MPI
    const auto job = JoinMpiJob(nullptr);
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(job.error().message, ::testing::HasSubstr("built without MPI"));
  }
  EXPECT_FALSE(with(nullptr, nullptr));
  const auto none = JoinMpiJob(nullptr);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(*none, nullptr);
}

}  // namespace
}  // namespace inferflux::collective
