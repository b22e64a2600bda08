// The ranks of a job that mpirun started (MPI 3.1).
#pragma once

#include <atomic>
#include <memory>

#include "base/result.h"
#include "collective/collective.h"

namespace inferflux::collective {

// This process's rank of the job; null if mpirun did not start it, or it alone. `stopping`: once it is true, an
// operation that waits for others gets a short time and then fails, because mpirun stops all ranks when one has died.
// kUnsupported if the build has no MPI. Call it once, before other threads use it; the last reference ends MPI.
Result<std::shared_ptr<Collective>> JoinMpiJob(std::shared_ptr<const std::atomic<bool>> stopping);

// Whether the build has MPI, and which: "Open MPI v4.1.4"; empty: none.
std::string MpiLibrary();

// Whether mpirun started this process as one of several, according to its environment.
bool StartedByMpirun();

}  // namespace inferflux::collective
