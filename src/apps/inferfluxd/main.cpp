// inferfluxd: the server.
#include <fmt/format.h>

#include <string>

#include "apps/console/backend_list.h"
#include "apps/inferfluxd/daemon.h"
#include "apps/inferfluxd/options.h"
#include "base/thread_pool.h"
#include "base/usable_cores.h"
#include "collective/mpi/mpi_job.h"
#include "hardware/device_list.h"
#include "serving/backends/built_in_engines.h"

int main(int argc, char** argv) {
  using namespace inferflux;
  const apps::ParsedOptions parsed = apps::ParseOptions(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  if (parsed.options->print_config) {
    fmt::print("{}", parsed.options->settings.Describe(config::kServer));
    return 0;
  }
  if (parsed.options->print_backends) {
    ThreadPool pool(UsableCores());
    fmt::print("{}", apps::BackendsAsText(serving::BuiltInEngines(pool), hardware::ReadHardware()));
    const std::string mpi = collective::MpiLibrary();
    fmt::print("\nranks of a model (--tensor-parallel, --pipeline-parallel): through shared memory; {}\n",
               mpi.empty() ? "not through MPI, which this build lacks (-DENABLE_MPI=ON)" : "through MPI: " + mpi);
    return 0;
  }
  return apps::RunDaemon(*parsed.options);
}
