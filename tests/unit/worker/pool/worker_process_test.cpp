#include "worker/pool/worker_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

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
  const int open_here = ::open("/dev/null", O_RDONLY);
  auto process = WorkerProcess::Start(
      {.program = "/bin/sh",
       .arguments = {"-c", "read line < /dev/fd/3; echo \"$line|$NAME|$1|$(ls /proc/self/fd | tr '\\n' ' ')\"; exit 5",
                     "sh", "word"},
       .environment = {"NAME=value", "PATH=/usr/bin:/bin"},
       .secret = "token"});
  ASSERT_TRUE(process) << process.error().message;
  const std::string said = ReadAll(process->TakeLog());
  EXPECT_THAT(said, HasSubstr("token|value|word|0 1 2 3 "));
  EXPECT_EQ(said.find(" " + std::to_string(std::max(open_here, 8)) + " "), std::string::npos);
  EXPECT_EQ(AwaitEnd(*process), "exit code 5");
  ::close(open_here);
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
