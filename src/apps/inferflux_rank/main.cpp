// inferflux-rank: a rank of a model that several processes share. inferfluxd and the workers start it; it learns the
// rest from rank 0, over the memory that it shares with it.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/thread_pool.h"
#include "base/usable_cores.h"
#include "base/version/version.h"
#include "collective/shared_memory/rank_processes.h"
#include "collective/shared_memory/shared_memory_collective.h"
#include "command_line/command_line.h"
#include "engine/native/native_backends.h"
#include "serving/backends/rank_job.h"

namespace inferflux::apps {
namespace {

Status Run(int32_t rank, int32_t ranks, int threads) {
  auto segment = collective::Segment::Open(collective::RankProcesses::kMemoryDescriptor, ranks);
  if (!segment) {
    return Forward(segment, "this program is started by inferfluxd --tensor-parallel or --pipeline-parallel");
  }
  auto joined = collective::SharedMemoryCollective::Join(std::move(*segment), rank);
  if (!joined) return Forward(joined);
  ThreadPool pool(threads > 0 ? threads : UsableCores());
  const std::shared_ptr<collective::Collective> own = std::move(*joined);
  return serving::FollowRankZero(own, pool, engine::NativeBackends());
}

}  // namespace
}  // namespace inferflux::apps

int main(int argc, char** argv) {
  using namespace inferflux;
  CommandLine app("inferflux-rank",
                  "Runs a rank of a model that several processes share.\n\n"
                  "inferfluxd --tensor-parallel N and --pipeline-parallel N start it; it is of no use alone.",
                  kVersion);
  int32_t rank = 1, ranks = 2;
  int threads = 0;
  app.Add("--rank", rank, "this process's number, from 1").Shown("NUMBER");
  app.Add("--ranks", ranks, "how many ranks share the model, with rank 0").Shown("NUMBER");
  app.Add("--threads", threads, "compute threads; 0: one a usable core").Shown("NUMBER");
  app.AddPrinters();
  if (const auto ended = app.Parse(argc, argv)) return *ended;
  log::SetProcessFields({{"rank", std::to_string(rank), true}});
  if (const Status done = apps::Run(rank, ranks, threads); !done) {
    log::Error("{}", done.error().message);
    return 1;
  }
  return 0;
}
