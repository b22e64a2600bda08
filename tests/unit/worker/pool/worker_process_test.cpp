#include "worker/pool/worker_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string ReadAll(int descriptor) {
  std::string out;
  char bytes[512];
  for (ssize_t got = 0; (got = ::read(descriptor, bytes, sizeof bytes)) > 0;)
    out.append(bytes, static_cast<size_t>(got));
  ::close(descriptor);
  return out;
}

std::string AwaitEnd(WorkerProcess& process) {
  for (int i = 0; i < 1000; ++i) {
    if (const auto how = process.Ended()) return *how;
    std::this_thread::sleep_for(10ms);
  }
  return "it runs";
}

TEST(WorkerProcess, GetsItsSecretItsArgumentsAndItsEnvironmentAndNothingElse) {
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int low = ::fcntl(null, F_DUPFD, 4), high = ::fcntl(null, F_DUPFD, 50);  // as a library leaves them open
  auto process = WorkerProcess::Start(
      {.program = "/bin/sh",
       .arguments =
           {"-c",
            "read line < /dev/fd/3; printf '%s|' \"$line\" \"$NAME\" \"$1\"; for each in 0 1 2 3 4 5 6 7 8 9 10 "
            "11 12 50; do [ -e /proc/$$/fd/$each ] && printf '%s ' $each; done; readlink /proc/$$/fd/0; exit 5",
            "sh", "word"},
       .environment = {"NAME=value", "PATH=/usr/bin:/bin"},
       .secret = "token"});
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(ReadAll(process->TakeLog()), "token|value|word|0 1 2 3 /dev/null\n");
  EXPECT_EQ(AwaitEnd(*process), "exit code 5");
  for (const int each : {null, low, high}) ::close(each);
}

TEST(WorkerProcess, NoDescriptorOutlivesIt) {
  const auto open = [] {
    using Entries = std::filesystem::directory_iterator;
    return std::distance(Entries("/proc/self/fd"), Entries());
  };
  const auto before = open();
  {
    auto read = WorkerProcess::Start({.program = "/bin/true"}), left = WorkerProcess::Start({.program = "/bin/true"});
    ASSERT_TRUE(read && left);
    EXPECT_EQ(open(), before + 2) << "their logs";
    ReadAll(read->TakeLog());
    EXPECT_EQ(AwaitEnd(*read), "exit code 0");
    const WorkerProcess moved = std::move(*left);
    EXPECT_EQ(open(), before + 1);
  }
  EXPECT_EQ(open(), before);
  EXPECT_FALSE(WorkerProcess::Start({.program = "/no/such/worker"}));
  EXPECT_EQ(open(), before);
}

TEST(WorkerProcess, HearsTheSignalsThatThePoolDoesNot) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto pipes = ::signal(SIGPIPE, SIG_IGN);
  auto sleeping = WorkerProcess::Start({.program = "/bin/sleep", .arguments = {"100"}});
  auto writing = WorkerProcess::Start(
      {.program = "/bin/sh", .arguments = {"-c", "kill -PIPE $$; exit 3"}, .environment = {"PATH=/usr/bin:/bin"}});
  ::signal(SIGPIPE, pipes);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(sleeping && writing);
  sleeping->Signal(SIGTERM);
  EXPECT_EQ(AwaitEnd(*sleeping), "signal 15");
  EXPECT_EQ(AwaitEnd(*writing), "signal 13");
}

#if defined(__linux__)
TEST(WorkerProcess, IsAskedToEndWhenItsPoolIsGone) {
  const std::string told = ::testing::TempDir() + "/pool_is_gone_" + std::to_string(::getpid());
  std::remove(told.c_str());
  const pid_t pool = ::fork();
  if (pool == 0) {
    auto process = WorkerProcess::Start(
        {.program = "/bin/sh",
         .arguments = {"-c", "trap 'echo asked > " + told +
                                 "; exit' TERM; echo up; n=0; while [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done"},
         .environment = {"PATH=/usr/bin:/bin"}});
    char up = 0;
    const bool runs = process && ::read(process->TakeLog(), &up, 1) == 1;
    ::_exit(runs ? 0 : 1);  // without a word to the worker
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pool, &status, 0), pool);
  EXPECT_EQ(status, 0);
  bool asked = false;
  for (int i = 0; i < 2000 && !asked; ++i) {
    asked = ::access(told.c_str(), F_OK) == 0;
    if (!asked) std::this_thread::sleep_for(10ms);
  }
  EXPECT_TRUE(asked);
  std::remove(told.c_str());
}
#endif

TEST(WorkerProcess, AFileThatIsNoProgramEndsAtOnce) {
  const std::string path = ::testing::TempDir() + "/no_program_" + std::to_string(::getpid());
  std::ofstream(path) << "some text";
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  auto process = WorkerProcess::Start({.program = path});
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(AwaitEnd(*process), "exit code 127");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  const auto refused = WorkerProcess::Start({.program = path});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(refused.error().message, "cannot run " + path + ": Permission denied");
  std::remove(path.c_str());
}

TEST(WorkerProcess, SaysWhichSignalEndedIt) {
  auto process = WorkerProcess::Start({.program = "/bin/sleep", .arguments = {"100"}});
  ASSERT_TRUE(process);
  process->Signal(SIGKILL);
  EXPECT_EQ(AwaitEnd(*process), "signal 9");
}

TEST(WorkerProcess, IsKilledWithItsOwner) {
  pid_t pid = 0;
  {
    auto process = WorkerProcess::Start({.program = "/bin/sleep", .arguments = {"100"}});
    ASSERT_TRUE(process);
    pid = process->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(WorkerProcess, ASecretMayComeOnItsInput) {
  auto process = WorkerProcess::Start(
      {.program = "/bin/sh",
       .arguments = {"-c", "read line; echo \"$line\"; cut -d' ' -f5 /proc/$$/stat; echo $$ >&2; kill -TERM $$"},
       .environment = {"PATH=/usr/bin:/bin"},
       .secret = "token",
       .secret_on_input = true});
  ASSERT_TRUE(process) << process.error().message;
  const std::string pid = std::to_string(process->pid());
  EXPECT_EQ(ReadAll(process->TakeLog()), "token\n" + pid + "\n" + pid + "\n") << "it leads a group of its own";
  EXPECT_EQ(process->TakeLog(), -1);
  EXPECT_EQ(AwaitEnd(*process), "signal 15");
  EXPECT_EQ(process->Ended(), "signal 15");
}

#if defined(__linux__)
TEST(WorkerProcess, RunsOnItsCores) {
  auto process = WorkerProcess::Start({.program = "/bin/sh",
                                       .arguments = {"-c", "grep Cpus_allowed_list /proc/$$/status"},
                                       .environment = {"PATH=/usr/bin:/bin"},
                                       .cores = {0}});
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(ReadAll(process->TakeLog()), "Cpus_allowed_list:\t0\n");
}
#endif

TEST(WorkerProcess, PassesOnOnlyWhatIsNoSettingOfThePool) {
  ::setenv("INFERFLUX_TEST_SETTING", "1", 1);
  ::setenv("INFERFLUX_CPU_ISA", "avx2", 1);
  ::setenv("A_TEST_VARIABLE", "1", 1);
  const auto environment = EnvironmentForWorkers();
  ::unsetenv("INFERFLUX_TEST_SETTING");
  ::unsetenv("INFERFLUX_CPU_ISA");
  ::unsetenv("A_TEST_VARIABLE");
  EXPECT_THAT(environment, ::testing::Contains("A_TEST_VARIABLE=1"));
  EXPECT_THAT(environment, ::testing::Contains("INFERFLUX_CPU_ISA=avx2"));
  EXPECT_THAT(environment, ::testing::Not(::testing::Contains("INFERFLUX_TEST_SETTING=1")));
}

TEST(WorkerProcess, AMissingProgramIsNamed) {
  const auto process = WorkerProcess::Start({.program = "/no/such/worker"});
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("/no/such/worker"));
}

}  // namespace
}  // namespace inferflux::worker
