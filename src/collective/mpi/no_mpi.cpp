#include "collective/mpi/mpi_job.h"

namespace inferflux::collective {

Result<std::shared_ptr<Collective>> JoinMpiJob(std::shared_ptr<const std::atomic<bool>>) {
  if (!StartedByMpirun()) return nullptr;
  return Fail(ErrorCode::kUnsupported,
              "mpirun started this program, which was built without MPI: install libopenmpi-dev and build with "
              "-DENABLE_MPI=ON, or use ./run --with mpi");
}

std::string MpiLibrary() { return {}; }

}  // namespace inferflux::collective
