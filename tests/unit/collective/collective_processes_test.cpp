// Ranks as processes of one host, and the death of one.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "collective/exercise.h"
#include "collective/shared_memory/shared_memory_collective.h"

namespace inferflux::collective {
namespace {

using Clock = std::chrono::steady_clock;

// Runs ranks 1 and up in processes of their own, which exit with 0 if their part returns an empty text.
class Ranks {
 public:
  Ranks(int32_t size, const std::function<std::string(Collective&)>& part) {
    auto segment = Segment::Create(size, 1024);
    EXPECT_TRUE(segment) << segment.error().message;
    for (int32_t rank = 1; rank < size; ++rank) {
      const pid_t child = ::fork();
      if (child == 0) {
        auto opened = Segment::Open((*segment)->descriptor(), size);  // a mapping of its own
        auto joined = opened ? SharedMemoryCollective::Join(*opened, rank)
                             : Result<std::unique_ptr<SharedMemoryCollective>>(Forward(opened));
        const std::string wrong = joined ? part(**joined) : joined.error().message;
        if (!wrong.empty()) ::dprintf(2, "rank %d: %s\n", rank, wrong.c_str());
        ::_exit(wrong.empty() ? 0 : 1);
      }
      children_.push_back(child);
    }
    auto joined = SharedMemoryCollective::Join(*segment, 0);
    EXPECT_TRUE(joined) << joined.error().message;
    own_ = std::move(*joined);
  }
  Collective& own() { return *own_; }
  pid_t child(int32_t rank) const { return children_[static_cast<size_t>(rank - 1)]; }
  // The exit codes by rank; -1: killed.
  std::vector<int> Wait() {
    std::vector<int> out;
    for (const pid_t child : children_) {
      int status = 0;
      ::waitpid(child, &status, 0);
      out.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    return out;
  }

 private:
  std::vector<pid_t> children_;
  std::unique_ptr<Collective> own_;
};

TEST(CollectiveProcesses, AgreeInEveryOperation) {
  for (const int32_t size : {2, 4}) {
    Ranks ranks(size, [](Collective& own) { return Exercise(own, 7, 400); });
    EXPECT_EQ(Exercise(ranks.own(), 7, 400), "") << size << " ranks";
    EXPECT_THAT(ranks.Wait(), testing::Each(0)) << size << " ranks";
  }
}

// What a rank returns that waits for others of which one dies.
std::string UntilDeath(Collective& own) {
  while (true) {
    const Status done = own.Barrier();
    if (done) continue;
    return done.error().message.find("has died") != std::string::npos ? "" : done.error().message;
  }
}

TEST(CollectiveProcesses, ADeathIsSeenByAllWithinASecond) {
  for (const int32_t size : {2, 4}) {
    Ranks ranks(size, UntilDeath);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(ranks.own().Barrier());
    const auto killed = Clock::now();
    ::kill(ranks.child(1), SIGKILL);
    EXPECT_EQ(UntilDeath(ranks.own()), "");
    EXPECT_LT(Clock::now() - killed, std::chrono::seconds(1));
    std::vector<int> right(static_cast<size_t>(size - 1), 0);
    right[0] = -1;
    EXPECT_EQ(ranks.Wait(), right);
  }
}

TEST(CollectiveProcesses, ADeathWhileTheOthersAreIdleIsSeenByTheNextCall) {
  Ranks ranks(2, [](Collective& own) -> std::string {
    if (!own.Barrier()) return "the first barrier fails";
    ::raise(SIGKILL);
    return "";
  });
  ASSERT_TRUE(ranks.own().Barrier());
  ranks.Wait();
  const auto begin = Clock::now();
  const Status done = ranks.own().Barrier();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
}

}  // namespace
}  // namespace inferflux::collective
