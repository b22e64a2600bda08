// Ranks whose devices exchange without the host: what is chosen, and what happens when a rank is lost. Each rank is a
// thread with a host executor; HostNccl is in NCCL's place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/without_exceptions.h"
#include "collective/shared_memory/shared_memory_collective.h"
#include "collective/single_rank.h"
#include "compute/cuda/cuda_backend.h"
#include "compute/cuda/host_runtime.h"
#include "compute/cuda/nccl/host_nccl.h"

namespace inferflux::compute {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Rank {
  std::shared_ptr<collective::Collective> ranks;
  std::unique_ptr<Cuda::Context> context;

  int32_t number() const { return ranks->rank(); }
  Result<std::string> Join(const std::string& wanted) { return Cuda::JoinRanks(*context, ranks, wanted); }
};

struct Setting {
  int32_t ranks = 2;
  std::shared_ptr<cuda::HostNcclNetwork> network = std::make_shared<cuda::HostNcclNetwork>();
  int32_t without = -1;                // this rank has no NCCL
  std::vector<std::string> devices{};  // UUIDs, by rank
};

// Runs `work` on each rank's thread; its device ends with it.
void OnRanks(const Setting& setting, const std::function<void(Rank&)>& work) {
  const auto segment = *collective::Segment::Create(setting.ranks, 4096);
  std::vector<std::thread> threads;
  for (int32_t number = 0; number < setting.ranks; ++number) {
    threads.emplace_back([&, number] {
      auto runtime = *cuda::HostRuntime::Open(
          {.memory_bytes = 1 << 22,
           .checked = false,
           .seed = static_cast<uint64_t>(number),
           .uuid = setting.devices.empty() ? "" : setting.devices[static_cast<size_t>(number)]});
      cuda::HostRuntime& device = *runtime;
      Rank rank{.ranks = *collective::SharedMemoryCollective::Join(segment, number),
                .context = *Cuda::Context::Open(std::move(runtime))};
      rank.context->open_nccl = [&]() -> Result<std::unique_ptr<cuda::Nccl>> {
        if (number == setting.without) return Fail(ErrorCode::kUnsupported, "there is no libnccl.so.2 here");
        return std::make_unique<cuda::HostNccl>(setting.network, device);
      };
      work(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// By rank.
std::vector<std::string> Joined(const Setting& setting, const std::string& wanted) {
  std::vector<std::string> out(static_cast<size_t>(setting.ranks));
  OnRanks(setting, [&](Rank& rank) {
    const auto joined = rank.Join(wanted);
    out[static_cast<size_t>(rank.number())] = joined ? *joined : "error: " + joined.error().message;
    EXPECT_EQ(rank.context->devices != nullptr, joined && joined->starts_with("NCCL"));
  });
  return out;
}

class DeviceRanks : public ::testing::TestWithParam<int32_t> {};

TEST_P(DeviceRanks, SumsGathersAndMessagesAreThoseOverTheHost) {
  for (const std::string wanted : {"auto", "nccl", "host"}) {
    const Setting setting{.ranks = GetParam()};
    OnRanks(setting, [&](Rank& rank) {
      const auto joined = rank.Join(wanted);
      ASSERT_TRUE(joined) << joined.error().message;
      Cuda::Context& context = *rank.context;
      const int32_t ranks = GetParam();
      std::vector<float> own, sum(6);
      for (int i = 0; i < 6; ++i) {
        own.push_back(static_cast<float>(10 * rank.number() + i));
        for (int32_t r = 0; r < ranks; ++r) sum[static_cast<size_t>(i)] += static_cast<float>(10 * r + i);
      }
      EXPECT_EQ(Cuda::Read(context, Cuda::SumOverRanks(context, Cuda::LoadVector(context, own))), sum);

      // Rank r has r + 1 columns of 2 rows: 100 * r + 10 * row + column.
      std::vector<int64_t> columns;
      std::vector<float> all, mine;
      for (int32_t r = 0; r < ranks; ++r) columns.push_back(r + 1);
      for (int row = 0; row < 2; ++row) {
        for (int32_t r = 0; r < ranks; ++r) {
          for (int c = 0; c <= r; ++c) {
            all.push_back(static_cast<float>(100 * r + 10 * row + c));
            if (r == rank.number()) mine.push_back(all.back());
          }
        }
      }
      Cuda::Buffer part = Cuda::LoadVector(context, mine);
      part.rows = 2;
      part.cols = rank.number() + 1;
      EXPECT_EQ(Cuda::Read(context, Cuda::GatherOverRanks(context, part, columns)), all);

      // A ring: each sends its own to the next, rank 0 first.
      const auto x = Cuda::LoadVector(context, own);
      const int32_t next = (rank.number() + 1) % ranks, before = (rank.number() + ranks - 1) % ranks;
      if (rank.number() == 0) Cuda::SendRows(context, x, next);
      const auto received = Cuda::Read(context, Cuda::ReceiveRows(context, 1, 6, before));
      if (rank.number() != 0) Cuda::SendRows(context, x, next);
      EXPECT_EQ(received[1], static_cast<float>(10 * before + 1));
      EXPECT_TRUE(rank.ranks->Barrier());  // a rank that leaves is lost to the others
    });
    EXPECT_EQ(setting.network->operations() > 0, wanted != "host") << wanted;
  }
}

TEST_P(DeviceRanks, AutoTakesNcclWhereAllHaveItAndTheHostOtherwiseAndSaysWhy) {
  const int32_t ranks = GetParam();
  EXPECT_THAT(Joined({.ranks = ranks}, "auto"),
              Each(std::string("NCCL 0.0.0 (host executor, for tests) (steps are told through shared memory)")));
  EXPECT_THAT(Joined({.ranks = ranks, .without = ranks - 1}, "auto"),
              Each("shared memory, not NCCL (rank " + std::to_string(ranks - 1) + ": there is no libnccl.so.2 here)"));
  EXPECT_THAT(Joined({.ranks = ranks}, "host"), Each(std::string("shared memory")));
  std::vector<std::string> devices;
  for (int32_t r = 0; r < ranks; ++r) devices.push_back("GPU-" + std::to_string(r));
  EXPECT_THAT(Joined({.ranks = ranks, .devices = devices}, "auto"), Each(StartsWith("NCCL")));
  devices.back() = devices.front();
  EXPECT_THAT(Joined({.ranks = ranks, .devices = devices}, "auto"),
              Each(HasSubstr(fmt::format("ranks 0 and {} share the device GPU-0", ranks - 1))));
}

TEST_P(DeviceRanks, NcclThatCannotBeHadIsOneSentenceOnEveryRank) {
  const int32_t ranks = GetParam();
  EXPECT_THAT(Joined({.ranks = ranks, .without = 0}, "nccl"),
              Each(std::string("error: collectives: nccl cannot be had (rank 0: there is no libnccl.so.2 here): choose "
                               "auto or host")));
  EXPECT_THAT(
      Joined({.ranks = ranks, .devices = std::vector<std::string>(static_cast<size_t>(ranks), "GPU-1")}, "nccl"),
      Each(HasSubstr("ranks 0 and 1 share the device GPU-1, which NCCL refuses")));
  EXPECT_THAT(Joined({.ranks = ranks}, "mpi"), Each(HasSubstr("'mpi' is not known; there are auto, nccl and host")));
}

TEST_P(DeviceRanks, AnotherNumberOfRanksThanTheModelsIsAnError) {
  const Setting setting{.ranks = GetParam()};
  setting.network->PretendSize(3);
  EXPECT_THAT(Joined(setting, "nccl"), Each(HasSubstr(fmt::format("NCCL: 3 ranks, and the model has {}", GetParam()))));
  EXPECT_THAT(Joined(setting, "auto"),
              Each(AllOf(StartsWith("shared memory, not NCCL ("), HasSubstr("NCCL: 3 ranks"))));
}

TEST_P(DeviceRanks, ARankThatIsLostEndsTheOthersWaits) {
  const Setting setting{.ranks = GetParam()};
  OnRanks(setting, [&](Rank& rank) {
    ASSERT_TRUE(rank.Join("nccl"));
    Cuda::Context& context = *rank.context;
    if (rank.number() == GetParam() - 1) {  // does not take part in the sum, in which the others are
      const int tried = 3 * GetParam();
      while (setting.network->operations() < tried + GetParam() - 1) std::this_thread::yield();
      rank.ranks->Abort({.code = ErrorCode::kUnavailable, .message = "rank 1 has no memory"});
      return;
    }
    const auto failed = WithoutExceptions("a step", [&]() -> Status {
      // The aborted sum ends without an error, as NCCL's does; reading what it left does not.
      const auto sum = Cuda::SumOverRanks(context, Cuda::LoadVector(context, std::vector<float>{1.0f}));
      (void)Cuda::Read(context, sum);
      return {};
    });
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message, HasSubstr("rank 1 has no memory"));
    const auto later = WithoutExceptions("the next", [&]() -> Status {
      (void)Cuda::SumOverRanks(context, Cuda::LoadVector(context, std::vector<float>{1.0f}));
      return {};
    });
    EXPECT_FALSE(later);
  });
  EXPECT_GE(setting.network->aborts(), GetParam() - 1);
}

TEST_P(DeviceRanks, WhatNcclReportsLaterIsTheStepsError) {
  const Setting setting{.ranks = GetParam()};
  OnRanks(setting, [&](Rank& rank) {
    ASSERT_TRUE(rank.Join("nccl"));
    ASSERT_TRUE(rank.ranks->Barrier());
    if (rank.number() == 0) setting.network->Break("a link is down");
    ASSERT_TRUE(rank.ranks->Barrier());
    const auto failed = WithoutExceptions("a step", [&]() -> Status {
      (void)Cuda::SumOverRanks(*rank.context, Cuda::LoadVector(*rank.context, std::vector<float>{1.0f}));
      return {};
    });
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message, HasSubstr("NCCL: a link is down"));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, DeviceRanks, ::testing::Values(2, 4));

TEST(DeviceRanksAlone, OneRankHasNothingToConnect) {
  auto context = *Cuda::Context::Open(*cuda::HostRuntime::Open({.memory_bytes = 1 << 22, .checked = false}));
  context->open_nccl = []() -> Result<std::unique_ptr<cuda::Nccl>> {
    ADD_FAILURE() << "nothing is opened";
    return Fail(ErrorCode::kUnsupported, "none");
  };
  const auto joined = Cuda::JoinRanks(*context, std::make_shared<collective::SingleRank>(), "nccl");
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(*joined, "one rank");
  context->ranks = nullptr;
  collective::SingleRank alone;
  context->ranks = &alone;
  const std::vector<float> values{1.0f, 2.0f};
  EXPECT_EQ(Cuda::Read(*context, Cuda::SumOverRanks(*context, Cuda::LoadVector(*context, values))), values);
}

}  // namespace
}  // namespace inferflux::compute
