#include <cstdlib>

#include "collective/mpi/mpi_job.h"

namespace inferflux::collective {

// Open MPI; MPICH, Intel MPI and Slurm (PMI).
bool StartedByMpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* size = std::getenv(name);
    if (size != nullptr && std::strtol(size, nullptr, 10) > 1) return true;
  }
  return false;
}

}  // namespace inferflux::collective
