// Waits for SIGINT and SIGTERM.
#pragma once

namespace inferflux {

// Blocks the signals in this thread and in all threads that it starts from now on, so that only WaitForStop receives
// them. Also ignores SIGPIPE: a disconnected client is an error value.
void BlockStopSignals();

// Waits for a signal, or for RequestStop.
void WaitForStop();

// Any thread.
void RequestStop();

// From now on a signal ends the process at once, for users who do not want to wait for a clean stop.
void RestoreStopSignals();

}  // namespace inferflux
