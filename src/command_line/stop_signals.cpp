#include "command_line/stop_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

namespace inferflux {
namespace {

sigset_t StopSignals() {
  sigset_t out;
  sigemptyset(&out);
  sigaddset(&out, SIGINT);
  sigaddset(&out, SIGTERM);
  return out;
}

}  // namespace

void BlockStopSignals() {
  sigset_t signals = StopSignals();
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

ProcessSignal WaitForSignal() {
  sigset_t signals = StopSignals();
  sigaddset(&signals, SIGHUP);
  int received = 0;
  sigwait(&signals, &received);
  return received == SIGHUP ? ProcessSignal::kReload : ProcessSignal::kStop;
}

void WaitForStop() {
  while (WaitForSignal() == ProcessSignal::kReload) {
  }
}

void RequestStop() { ::kill(::getpid(), SIGTERM); }

void RestoreStopSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace inferflux
