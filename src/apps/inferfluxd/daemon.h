// The server process: listens, loads models, serves until a signal.
#pragma once

#include "apps/inferfluxd/options.h"

namespace inferflux::apps {

// Returns the exit code: 0 after a clean stop, 1 if it could not listen or load a model.
int RunDaemon(const DaemonOptions& options);

}  // namespace inferflux::apps
