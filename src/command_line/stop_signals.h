// Waits for SIGINT and SIGTERM, which end the program, and for SIGHUP, which never does.
#pragma once

namespace inferflux {

// Blocks the signals in this thread and in all threads that it starts from now on, so that only WaitForSignal and
// WaitForStop receive them. Also ignores SIGPIPE: a disconnected client is an error value.
void BlockStopSignals();

enum class ProcessSignal {
  kStop,    // SIGINT, SIGTERM
  kReload,  // SIGHUP: read the configuration again; a terminal sends it too, when it closes
};

// Waits for a signal, or for RequestStop.
ProcessSignal WaitForSignal();
// The same for programs that have nothing to read again: they ignore SIGHUP.
void WaitForStop();

// Any thread.
void RequestStop();

// From now on a signal ends the process at once, for users who do not want to wait for a clean stop.
void RestoreStopSignals();

}  // namespace inferflux
