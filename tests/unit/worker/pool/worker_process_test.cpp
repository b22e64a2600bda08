#include "worker/pool/worker_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
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

TEST(WorkerProcess, AMissingProgramIsNamed) {
  const auto process = WorkerProcess::Start({.program = "/no/such/worker"});
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("/no/such/worker"));
}

}  // namespace
}  // namespace inferflux::worker
