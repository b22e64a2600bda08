// The memory that ranks share: its layout, what is no such memory, its one failure, and waiting in it.
#include "collective/shared_memory/segment.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective/shared_memory/peer_watch.h"
#include "collective/shared_memory/waiting.h"

namespace inferflux::collective {
namespace {

off_t SizeOf(int descriptor) {
  struct stat found {};
  EXPECT_EQ(::fstat(descriptor, &found), 0);
  return found.st_size;
}

TEST(Segment, EveryPartHasAPlaceOfItsOwnAndNoneIsLost) {
  for (const int32_t ranks : {1, 2, 3}) {
    const auto segment = Segment::Create(ranks, 128);
    ASSERT_TRUE(segment);
    EXPECT_EQ((*segment)->ranks(), ranks);
    EXPECT_EQ((*segment)->slot_bytes(), 128u);
    std::vector<std::pair<uintptr_t, size_t>> parts;
    const auto add = [&](const void* at, size_t size) { parts.emplace_back(reinterpret_cast<uintptr_t>(at), size); };
    for (int32_t rank = 0; rank < ranks; ++rank) {
      add(&(*segment)->rank(rank), sizeof(SharedRank));
      for (const uint32_t parity : {0u, 1u})
        add((*segment)->slot(rank, parity).data(), (*segment)->slot(rank, parity).size());
      for (int32_t to = 0; to < ranks; ++to) {
        add(&(*segment)->channel(rank, to), sizeof(SharedChannel));
        add((*segment)->mailbox(rank, to).data(), (*segment)->mailbox(rank, to).size());
      }
    }
    std::ranges::sort(parts);
    for (size_t i = 1; i < parts.size(); ++i)
      EXPECT_EQ(parts[i].first, parts[i - 1].first + parts[i - 1].second) << ranks << " ranks, part " << i;
    const uintptr_t header = parts.front().first % static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const size_t rest = parts.back().first + parts.back().second - parts.front().first;
    EXPECT_EQ(static_cast<size_t>(SizeOf((*segment)->descriptor())), header + rest);
  }
}

TEST(Segment, HasSlotsOfMultiplesOf64Bytes) {
  for (const int64_t wrong :
       {int64_t{-64}, int64_t{0}, int64_t{63}, int64_t{65}, int64_t{100}, (int64_t{1} << 30) + 64}) {
    const auto segment = Segment::Create(2, wrong);
    ASSERT_FALSE(segment) << wrong;
    EXPECT_EQ(segment.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(segment.error().message,
              "slots of " + std::to_string(wrong) + " bytes: they must be a multiple of 64, at most 1073741824");
  }
  EXPECT_TRUE(Segment::Create(2, 64));
  EXPECT_TRUE(Segment::Create(64, 64));
}

TEST(Segment, OpensNothingElse) {
  const auto message = [](int descriptor, int32_t ranks) {
    const auto opened = Segment::Open(descriptor, ranks);
    return opened ? "opened" : opened.error().message;
  };
  const auto segment = Segment::Create(2, 128);
  ASSERT_TRUE(segment);
  const int own = (*segment)->descriptor();
  EXPECT_EQ(message(own, 2), "opened");
  EXPECT_EQ(message(own, 1), "the shared memory is of 2 ranks, and this one was started as one of 1");
  EXPECT_EQ(message(own, 0), "0 ranks: there may be 1 to 64");
  EXPECT_EQ(message(-1, 2), "cannot read descriptor -1: Bad file descriptor");
  const int other = ::memfd_create("other", MFD_CLOEXEC);
  const std::string none = "descriptor " + std::to_string(other) + " has no shared memory of ranks";
  EXPECT_EQ(message(other, 2), none);
  ASSERT_EQ(::ftruncate(other, 1 << 20), 0);
  EXPECT_EQ(message(other, 2), none);
  ::close(other);
  const auto size = static_cast<long>(SizeOf(own));
  for (const long wrong : {size + 64, size - 64}) {
    ASSERT_EQ(::ftruncate(own, wrong), 0);
    EXPECT_EQ(message(own, 2), "the shared memory has " + std::to_string(wrong) + " bytes, not what 2 ranks need");
  }
  ASSERT_EQ(::ftruncate(own, size), 0);
}

TEST(Segment, IsTheSameMemoryWhereItIsOpened) {
  const auto segment = Segment::Create(2, 128);
  ASSERT_TRUE(segment);
  {
    const auto opened = Segment::Open((*segment)->descriptor(), 2);
    ASSERT_TRUE(opened);
    EXPECT_NE((*opened)->descriptor(), (*segment)->descriptor());
    EXPECT_EQ((*opened)->slot_bytes(), 128u);
    (*opened)->slot(1, 1)[127] = std::byte{42};
    (*opened)->mailbox(1, 0)[5] = std::byte{43};
    (*opened)->SetFailed({ErrorCode::kInternal, "why"});
  }
  EXPECT_EQ((*segment)->slot(1, 1)[127], std::byte{42});
  EXPECT_EQ((*segment)->mailbox(1, 0)[5], std::byte{43});
  EXPECT_EQ((*segment)->failed().error().message, "why");
}

std::ptrdiff_t OpenDescriptors() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/fd"), Entries());
}

TEST(Segment, NoDescriptorOutlivesIt) {
  const auto before = OpenDescriptors();
  {
    const auto segment = Segment::Create(2, 128);
    ASSERT_TRUE(segment);
    EXPECT_TRUE(Segment::Open((*segment)->descriptor(), 2));
    EXPECT_FALSE(Segment::Open((*segment)->descriptor(), 3));
    EXPECT_EQ(OpenDescriptors(), before + 1);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(Segment, KeepsTheFirstFailure) {
  for (const size_t size : {0u, 478u, 479u, 480u, 3000u}) {
    const auto segment = Segment::Create(1, 64);
    ASSERT_TRUE(segment);
    EXPECT_TRUE((*segment)->failed());
    const std::string text(size, 'w');
    (*segment)->SetFailed({ErrorCode::kNotFound, text});
    (*segment)->SetFailed({ErrorCode::kInternal, "later"});
    const Status failed = (*segment)->failed();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(failed.error().message, text.substr(0, 479));
  }
}

TEST(Waiting, EndsWithTheValueOrWithTheError) {
  SharedCounter counter{};
  int checks = 0;
  const auto fine = [&]() -> Status { return ++checks, Status(); };
  EXPECT_TRUE(WaitFor(counter, 0, fine));
  counter.value = 7;
  EXPECT_TRUE(WaitFor(counter, 7, fine));
  EXPECT_TRUE(WaitFor(counter, 0xffffffff, fine));
  EXPECT_EQ(checks, 0);
  const Status lost = WaitFor(counter, 8, [] { return Status(Fail(ErrorCode::kUnavailable, "lost")); });
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().message, "lost");
  // A value that came in time counts, whatever happened then.
  EXPECT_TRUE(WaitFor(counter, 8, [&] {
    counter.value = 8;
    return Status(Fail(ErrorCode::kUnavailable, "lost"));
  }));
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Publish(counter, 9);
  });
  EXPECT_TRUE(WaitFor(counter, 9, fine));
  EXPECT_GE(checks, 1);
  other.join();
  EXPECT_EQ(counter.value.load(), 9u);
  EXPECT_EQ(counter.sleepers.load(), 0u);
}

// A process that waits to be killed. It ends with the test, however that ends.
pid_t StartSleeper() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(120);  // the test may have ended before
    ::pause();
    ::_exit(0);
  }
  return child;
}

TEST(PeerWatch, KeepsADescriptorForEachRankUntilItGoes) {
  const auto before = OpenDescriptors();
  const pid_t first = StartSleeper(), second = StartSleeper();
  {
    PeerWatch watch(1);
    for (const pid_t process : {first, first, second, first}) {
      EXPECT_TRUE(watch.IsAlive(0, process));
      EXPECT_LE(OpenDescriptors(), before + 1);
    }
  }
  EXPECT_EQ(OpenDescriptors(), before);
  for (const pid_t child : {first, second}) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

TEST(PeerWatch, SeesWhichProcessesLive) {
  PeerWatch watch(2);
  EXPECT_TRUE(watch.IsAlive(0, 0)) << "the rank has not started yet";
  EXPECT_TRUE(watch.IsAlive(0, -1));
  EXPECT_TRUE(watch.IsAlive(0, ::getpid()));
  const pid_t first = StartSleeper(), second = StartSleeper();
  EXPECT_TRUE(watch.IsAlive(0, first));
  EXPECT_TRUE(watch.IsAlive(1, second));
  ::kill(first, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(first), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(watch.IsAlive(0, first)) << "a zombie is dead, even before waitpid";
  EXPECT_TRUE(watch.IsAlive(1, second));
  EXPECT_TRUE(watch.IsAlive(0, second)) << "the rank has another process";
  ::waitpid(first, nullptr, 0);
  EXPECT_FALSE(watch.IsAlive(0, first)) << "it is no process any more";
  ::kill(second, SIGKILL);
  ::waitpid(second, nullptr, 0);
  EXPECT_FALSE(watch.IsAlive(1, second));
}

}  // namespace
}  // namespace inferflux::collective
