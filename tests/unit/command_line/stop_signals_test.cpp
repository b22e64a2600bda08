// Which signals end a program, and when. Each test runs in a process of its own.
#include "command_line/stop_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace inferflux {
namespace {

bool IsPending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

TEST(StopSignalsTest, EachSignalHasItsMeaning) {
  EXPECT_EXIT(
      {
        BlockStopSignals();
        bool good = true;
        for (const int signal : {SIGINT, SIGTERM}) {
          ::kill(::getpid(), signal);
          good = good && WaitForSignal() == ProcessSignal::kStop;
        }
        ::kill(::getpid(), SIGHUP);
        good = good && WaitForSignal() == ProcessSignal::kReload;
        RequestStop();
        good = good && WaitForSignal() == ProcessSignal::kStop;
        std::_Exit(good ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(StopSignalsTest, AProgramWithNothingToReloadWaitsForTheStop) {
  EXPECT_EXIT(
      {
        BlockStopSignals();
        ::kill(::getpid(), SIGHUP);
        RequestStop();
        WaitForStop();
        std::_Exit(IsPending(SIGHUP) || IsPending(SIGTERM) ? 1 : 7);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(StopSignalsTest, AClosedPipeIsAnErrorAndNoEnd) {
  EXPECT_EXIT(
      {
        BlockStopSignals();
        int ends[2];
        if (::pipe(ends) != 0) std::_Exit(1);
        ::close(ends[0]);
        std::_Exit(::write(ends[1], "x", 1) == -1 && errno == EPIPE ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(StopSignalsTest, RestoredSignalsEndTheProgramAtOnce) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          std::signal(signal, SIG_DFL);  // a shell's background jobs ignore SIGINT
          BlockStopSignals();
          RestoreStopSignals();
          ::kill(::getpid(), signal);
          std::_Exit(1);
        },
        ::testing::KilledBySignal(signal), "");
  }
  EXPECT_EXIT(
      {
        BlockStopSignals();
        RestoreStopSignals();
        ::kill(::getpid(), SIGHUP);
        std::_Exit(IsPending(SIGHUP) ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "")
      << "a terminal that closes ends nothing";
}

}  // namespace
}  // namespace inferflux
