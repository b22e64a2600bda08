// What the processes of a job's other ranks begin with, on small shell scripts in place of a rank.
#include "collective/shared_memory/rank_processes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace inferflux::collective {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RankProcessesTest : public ::testing::Test {
 protected:
  RankProcessesTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RankProcessesTest() override { fs::remove_all(folder_); }

  // A program that runs these lines of a shell.
  std::string Program(const std::string& lines) {
    const fs::path path = folder_ / "rank";
    std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  std::string Written(const std::string& name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::shared_ptr<Segment> Job(int32_t ranks) {
    auto segment = Segment::Create(ranks, 1024);
    EXPECT_TRUE(segment) << segment.error().message;
    return *segment;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(RankProcessesTest, EachRankKnowsItsNumberAndHasNoOtherDescriptors) {
  const int leak = ::fcntl(::open("/dev/null", O_RDONLY | O_CLOEXEC), F_DUPFD, 57);  // as a library leaves one open
  ASSERT_GE(leak, 57);
  {
    const auto ranks = RankProcesses::Start(
        Job(3),
        Program("echo \"$*\" > \"$6.$2\"\n[ -e /proc/$$/fd/3 ] && echo memory >> \"$6.$2\"\n[ -e /proc/$$/fd/" +
                std::to_string(leak) +
                " ] && echo leak >> \"$6.$2\"\nfor each in 5 6 7 8; do [ -e /proc/$$/fd/$each ] && "
                "echo also $each >> \"$6.$2\"; done\nexit 0"),
        {"--out", (folder_ / "said").string()}, nullptr);
    ASSERT_TRUE(ranks) << ranks.error().message;
    (*ranks)->Expect();
  }  // waits for them
  ::close(leak);
  for (const char* rank : {"1", "2"}) {
    EXPECT_EQ(Written(std::string("said.") + rank),
              std::string("--rank ") + rank + " --ranks 3 --out " + (folder_ / "said").string() + "\nmemory\n");
  }
}

TEST_F(RankProcessesTest, AnEndThatNobodyExpectsIsReportedAndFailsTheJob) {
  const auto job = Job(2);
  std::promise<Error> death;
  const auto ranks = RankProcesses::Start(job, Program("exit 7"), {}, [&](const Error& why) { death.set_value(why); });
  ASSERT_TRUE(ranks) << ranks.error().message;
  auto reported = death.get_future();
  ASSERT_EQ(reported.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_THAT(reported.get().message, AllOf(HasSubstr("rank 1 of 2"), HasSubstr("with exit code 7")));
  EXPECT_THAT(job->failed().error().message, HasSubstr("with exit code 7"));
}

TEST_F(RankProcessesTest, EachDeathIsReportedOnceWithItsSignal) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);  // what this process blocks, the ranks do not
  std::mutex mutex;
  std::vector<std::string> deaths;
  const auto job = Job(3);
  const auto ranks = RankProcesses::Start(job, Program("kill -TERM $$\nexit 0"), {}, [&](const Error& why) {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(why.code, ErrorCode::kUnavailable);
    deaths.push_back(why.message);
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(ranks) << ranks.error().message;
  const auto reported = [&] {
    const std::lock_guard lock(mutex);
    return deaths.size();
  };
  for (int i = 0; i < 2000 && reported() < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::lock_guard lock(mutex);
  std::vector<std::string> right;
  for (const int rank : {1, 2}) {
    right.push_back("rank " + std::to_string(rank) + " of 3 (process " +
                    std::to_string(job->rank(rank).process.load()) + ") has ended by signal 15");
  }
  EXPECT_THAT(deaths, ::testing::UnorderedElementsAreArray(right));
  EXPECT_THAT(right, ::testing::Contains(job->failed().error().message));
}

TEST_F(RankProcessesTest, AnExpectedEndIsNoDeathAndGroupsAreTheirOwn) {
  const auto job = Job(2);
  std::atomic<int> deaths{0};
  {
    const auto ranks = RankProcesses::Start(
        job, Program("while [ ! -e \"$6.go\" ]; do sleep 0.01; done\ncut -d' ' -f5 /proc/$$/stat > \"$6\"\nexit 3"),
        {"--out", (folder_ / "group").string()}, [&](const Error&) { ++deaths; });
    ASSERT_TRUE(ranks) << ranks.error().message;
    (*ranks)->Expect();
    std::ofstream(folder_ / "group.go") << "";
  }
  EXPECT_EQ(deaths, 0);
  EXPECT_TRUE(job->failed());
  EXPECT_EQ(Written("group"), std::to_string(job->rank(1).process.load()) + "\n");
}

TEST_F(RankProcessesTest, AProcessThatDoesNotEndIsKilled) {
  const auto job = Job(2);
  const auto begin = std::chrono::steady_clock::now();
  { const auto ranks = RankProcesses::Start(job, Program("exec sleep 60"), {}, nullptr); }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(4500))
      << "it had time to free its weights";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_NE(::kill(job->rank(1).process.load(), 0), 0) << "it is gone";
}

TEST_F(RankProcessesTest, AProgramThatCannotRunIsNamed) {
  const auto ranks = RankProcesses::Start(Job(2), folder_.string(), {}, nullptr);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().code, ErrorCode::kIo);
  EXPECT_THAT(ranks.error().message, ::testing::StartsWith("cannot start " + folder_.string() + ": "));
  EXPECT_EQ(OwnFolder(), fs::read_symlink("/proc/self/exe").parent_path().string());
}

TEST_F(RankProcessesTest, NoDescriptorOutlivesThem) {
  const auto open = [] {
    using Entries = fs::directory_iterator;
    return std::distance(Entries("/proc/self/fd"), Entries());
  };
  const auto before = open();
  {
    const auto ranks = RankProcesses::Start(Job(3), Program("exit 0"), {}, nullptr);
    ASSERT_TRUE(ranks) << ranks.error().message;
    (*ranks)->Expect();
  }
  EXPECT_EQ(open(), before);
  EXPECT_FALSE(RankProcesses::Start(Job(2), folder_.string(), {}, nullptr));
  EXPECT_EQ(open(), before);
}

TEST_F(RankProcessesTest, AProgramThatIsNotThereIsNamed) {
  const auto ranks = RankProcesses::Start(Job(2), (folder_ / "none").string(), {}, nullptr);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(ranks.error().message, HasSubstr("none"));
}

}  // namespace
}  // namespace inferflux::collective
