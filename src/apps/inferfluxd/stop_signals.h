// SIGINT and SIGTERM as something to wait for.
#pragma once

namespace inferflux::apps {

// Blocks the signals in this thread and in all that it starts from now on, so that WaitForStop alone sees them. Also
// ignores SIGPIPE: a client that leaves is an error value.
void BlockStopSignals();

// Waits for a signal, or for RequestStop.
void WaitForStop();

// Any thread.
void RequestStop();

// From now on a signal ends the process at once: a second signal need not wait for a clean stop.
void RestoreStopSignals();

}  // namespace inferflux::apps
