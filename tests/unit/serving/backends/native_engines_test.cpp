// Our own engines as entries: why one is absent, and what its compute backend is told. The compute backends are fakes.
#include "serving/backends/native_engines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "collective/shared_memory/shared_memory_collective.h"
#include "model/loading/model_source.h"
#include "serving/backends/rank_job.h"

namespace inferflux::serving {
namespace {

using ::testing::HasSubstr;

// What the fakes are told; functions of a compute backend have no state of their own.
struct Told {
  std::mutex mutex;
  std::vector<engine::EngineOptions> created, followed;
  std::vector<std::string> tested;  // devices
  std::vector<std::string> followed_paths;
  std::vector<compute::Device> devices;
  std::string unavailable;
};
Told& told() {
  static Told out;
  return out;
}

engine::NativeBackend FakeBackend(std::string_view name) {
  return {.name = name,
          .layouts = {.affine = true, .fp8 = false, .ordered = true},
          .note = [] { return std::string("a note"); },
          .unavailable = [] { return told().unavailable; },
          .devices =
              [](const compute::ContextOptions& options) {
                EXPECT_NE(options.pool, nullptr);
                return told().devices;
              },
          .self_test = [](const compute::ContextOptions& options) -> Status {
            EXPECT_NE(options.pool, nullptr);
            told().tested.push_back(options.device);
            return {};
          },
          .rates = nullptr,
          .create = [](model::ModelConfig, std::shared_ptr<const model::ModelSource>,
                       const engine::EngineOptions& options) -> Result<std::unique_ptr<engine::Engine>> {
            const std::lock_guard lock(told().mutex);
            told().created.push_back(options);
            return Fail(ErrorCode::kInternal, "a fake");
          },
          .follow = [](model::ModelConfig, std::shared_ptr<const model::ModelSource> source,
                       const engine::EngineOptions& options) -> Status {
            const std::lock_guard lock(told().mutex);
            told().followed.push_back(options);
            told().followed_paths.push_back(source->path());
            return {};
          }};
}

class NativeEntries : public ::testing::Test {
 protected:
  NativeEntries() {
    told().created.clear();
    told().followed.clear();
    told().followed_paths.clear();
    told().tested.clear();
    told().unavailable.clear();
    told().devices = {{.name = "host"}, {.name = "other"}};
  }
  const EngineEntry& Entry(Target target) {
    entries_ = NativeEngines(pool_, backends_);
    const auto found = std::ranges::find(entries_, target, &EngineEntry::target);
    EXPECT_NE(found, entries_.end());
    return *found;
  }
  // What the engine of the bundled model is told for these settings.
  engine::EngineOptions Created(BackendConfig config, int32_t context = 0, std::shared_ptr<RankJob> job = nullptr) {
    const auto source =
        model::ModelSource::Open(std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf");
    EXPECT_TRUE(source);
    const auto made = Entry(Target::kCpu)
                          .make({.source = *source,
                                 .context = context,
                                 .config = std::move(config),
                                 .stop = stop_.get_token(),
                                 .rank_job = std::move(job)});
    EXPECT_FALSE(made);
    why_ = made.error().message;
    return told().created.empty() ? engine::EngineOptions() : told().created.back();
  }

  ThreadPool pool_{1};
  std::stop_source stop_;
  std::string why_;
  std::vector<engine::NativeBackend> backends_ = {FakeBackend("cpu"), FakeBackend("mlx")};
  std::vector<EngineEntry> entries_;
};

TEST_F(NativeEntries, ThereIsOneForEachNativeRow) {
  std::string text;
  told().devices = {{.name = "card", .gpu = true}};
  for (const EngineEntry& each : NativeEngines(pool_, backends_)) {
    EXPECT_EQ(each.provider, Provider::kNative);
    text += std::string(Traits(each.target).name) + (each.automatic ? " auto" : "") + (each.make ? " made" : "") + "; ";
  }
  EXPECT_EQ(text, "cpu auto made; reference; mlx auto made; mps made; cuda auto; ");
}

TEST_F(NativeEntries, WhatIsMissingSaysWhatItNeeds) {
  EXPECT_EQ(Entry(Target::kCuda).why_absent,
            "this build has no cuda backend; it needs scripts/install-cuda, then -DENABLE_CUDA=ON (on the CPU, for "
            "tests: -DENABLE_CUDA=HOST)");
  EXPECT_FALSE(Entry(Target::kCuda).devices);
  backends_.pop_back();
  EXPECT_THAT(Entry(Target::kMps).why_absent, HasSubstr("this build has no mlx backend; it needs "));
  told().unavailable = "the driver is missing";
  EXPECT_EQ(Entry(Target::kCpu).why_absent, "the driver is missing");
  EXPECT_FALSE(Entry(Target::kCpu).make);
}

TEST_F(NativeEntries, AnEngineForGpusThatHasNoneRunsOnlyWhereItIsNamed) {
  EXPECT_TRUE(Entry(Target::kMlx).make);
  EXPECT_FALSE(Entry(Target::kMlx).automatic);
  EXPECT_FALSE(Entry(Target::kMps).make);
  EXPECT_EQ(Entry(Target::kMps).why_absent, "mlx finds no GPU here; the backend mlx runs it on the CPU");
  EXPECT_TRUE(Entry(Target::kCpu).automatic) << "which needs none";
  told().devices[1].gpu = true;
  EXPECT_TRUE(Entry(Target::kMlx).automatic);
  EXPECT_TRUE(Entry(Target::kMps).make);
}

TEST_F(NativeEntries, AnEntryPassesOnWhatItsBackendSays) {
  const EngineEntry& entry = Entry(Target::kCpu);
  EXPECT_EQ(entry.note, "a note");
  EXPECT_TRUE(entry.weight_layouts.affine);
  EXPECT_FALSE(entry.weight_layouts.fp8);
  EXPECT_TRUE(entry.weight_layouts.ordered);
  ASSERT_EQ(entry.devices().size(), 2u);
  EXPECT_EQ(entry.devices()[1].name, "other");
  EXPECT_TRUE(entry.self_test(kAnyDevice));
  EXPECT_TRUE(entry.self_test(1));
  EXPECT_THAT(told().tested, ::testing::ElementsAre("", "1"));
}

TEST_F(NativeEntries, EachSettingReachesTheEngine) {
  const auto set = Created({.device = "1",
                            .kv_dtype = "int8",
                            .kv_budget = 7,
                            .repack = false,
                            .mlx_requantise = true,
                            .cuda_graphs = false,
                            .cuda_streams = 2},
                           99);
  EXPECT_EQ(why_, "a fake");
  EXPECT_EQ(set.context, 99);
  EXPECT_EQ(set.kv_bytes, 7);
  EXPECT_EQ(set.kv_dtype, "int8");
  EXPECT_FALSE(set.graphs);
  EXPECT_EQ(set.streams, 2);
  EXPECT_EQ(set.device.device, "1");
  EXPECT_EQ(set.device.pool, &pool_);
  EXPECT_FALSE(set.device.repack);
  EXPECT_TRUE(set.device.requantise);
  EXPECT_EQ(set.parallelism.ranks(), 1);
  EXPECT_EQ(set.ranks, nullptr);
  EXPECT_FALSE(set.stop.stop_requested());
  stop_.request_stop();
  EXPECT_TRUE(set.stop.stop_requested());
  const auto usual = Created({});
  const engine::EngineOptions defaults;
  EXPECT_EQ(usual.context, 0);
  EXPECT_EQ(usual.kv_bytes, 0);
  EXPECT_EQ(usual.kv_dtype, defaults.kv_dtype);
  EXPECT_EQ(usual.graphs, defaults.graphs);
  EXPECT_EQ(usual.streams, defaults.streams);
  EXPECT_EQ(usual.device.device, "");
  EXPECT_EQ(usual.device.repack, defaults.device.repack);
  EXPECT_EQ(usual.device.requantise, defaults.device.requantise);
  Created({.device = "2"});
  EXPECT_EQ(why_,
            "there is no device 2: this backend has 0 (host, 0.0 GiB free), 1 (other, 0.0 GiB free); set "
            "'device' to one of them, or leave it out");
  told().devices.pop_back();
  Created({.device = "2"});
  EXPECT_EQ(why_, "there is no device 2: this backend has 0 (host, 0.0 GiB free); set 'device' to 0, or leave it out");
}

TEST_F(NativeEntries, AContextThatTheTrainedRopeAllowsStays) {
  const auto source = model::ModelSource::Open(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/models/phi3_long.gguf");
  ASSERT_TRUE(source);
  for (const auto& [asked, told_context] : {std::pair(0, 16), {1, 1}, {16, 16}, {17, 16}}) {
    EXPECT_FALSE(Entry(Target::kCpu)
                     .make({.source = *source, .context = asked, .config = {.rope_context = "original"}, .stop = {}}));
    EXPECT_EQ(told().created.back().context, told_context) << asked;
  }
}

TEST_F(NativeEntries, TheOtherRanksAreToldTheSame) {
  const auto segment = *collective::Segment::Create(2);
  const auto job = std::make_shared<RankJob>();
  job->world = *collective::SharedMemoryCollective::Join(segment, 0);
  bool lost = false;
  job->on_lost = [&](const Error&) { lost = true; };
  Status followed = Fail(ErrorCode::kInternal, "it did not end");
  std::thread other([&] {
    const std::shared_ptr<collective::Collective> world = *collective::SharedMemoryCollective::Join(segment, 1);
    ThreadPool pool(1);
    followed = FollowRankZero(world, pool, backends_);
  });
  const BackendConfig config{.kv_dtype = "int8",
                             .kv_budget = 10,
                             .repack = false,
                             .tensor_parallel = 2,
                             .pipeline_parallel = 1,
                             .collectives = "host"};
  auto own = Created(config, 99, job);
  EXPECT_EQ(why_, "a fake");
  EXPECT_EQ(own.kv_bytes, 5) << "each rank holds a half";
  EXPECT_EQ(own.collectives, "host");
  EXPECT_EQ(own.parallelism, (model::Parallelism{.tensor = 2, .pipeline = 1}));
  ASSERT_NE(own.ranks, nullptr);
  EXPECT_EQ(own.ranks->size(), 2);
  ASSERT_TRUE(own.on_lost_rank);
  own.on_lost_rank({});
  EXPECT_TRUE(lost);
  const size_t made = told().created.size();
  Created(config, 99, job);
  EXPECT_EQ(why_, "the ranks of this job already share another model");
  EXPECT_EQ(told().created.size(), made);
  own = {};
  told().created.clear();
  EXPECT_FALSE(job->taken) << "and are free when that is gone";
  BackendConfig next = config;
  next.kv_dtype = "fp32";
  next.repack = true;
  next.tensor_parallel = 1;
  next.pipeline_parallel = 2;
  Created(next, 50, job);
  EndRanks(*job->world);
  other.join();
  EXPECT_TRUE(followed) << followed.error().message;
  ASSERT_EQ(told().followed.size(), 2u);
  const auto& first = told().followed[0];
  EXPECT_EQ(first.context, 99);
  EXPECT_EQ(first.kv_bytes, 5);
  EXPECT_EQ(first.kv_dtype, "int8");
  EXPECT_NE(first.device.pool, nullptr);
  EXPECT_FALSE(first.device.repack);
  EXPECT_EQ(first.device.device, "1") << "each rank of a host has a device";
  EXPECT_EQ(first.parallelism, (model::Parallelism{.tensor = 2, .pipeline = 1}));
  EXPECT_EQ(first.collectives, "host");
  EXPECT_EQ(first.ranks->rank(), 1);
  EXPECT_THAT(told().followed_paths[0], ::testing::EndsWith("/models/tiny/inferflux-tiny.gguf"));
  const auto& second = told().followed[1];
  EXPECT_EQ(second.context, 50);
  EXPECT_TRUE(second.device.repack);
  EXPECT_EQ(second.parallelism, (model::Parallelism{.tensor = 1, .pipeline = 2}));
  told().followed.clear();
  told().created.clear();
}

TEST_F(NativeEntries, WhereThereIsOneDeviceAllRanksShareIt) {
  const auto segment = *collective::Segment::Create(2);
  const auto job = std::make_shared<RankJob>();
  job->world = *collective::SharedMemoryCollective::Join(segment, 0);
  told().devices.pop_back();
  std::thread other([&] {
    const std::shared_ptr<collective::Collective> world = *collective::SharedMemoryCollective::Join(segment, 1);
    ThreadPool pool(1);
    EXPECT_EQ(RunRank(world, 1, backends_, 7), 0);
  });
  Created({.tensor_parallel = 2}, 0, job);
  EndRanks(*job->world);
  other.join();
  ASSERT_EQ(told().followed.size(), 1u);
  EXPECT_EQ(told().followed[0].device.device, "");
  EXPECT_EQ(told().followed[0].collectives, "auto");
  EXPECT_TRUE(told().followed[0].device.repack);
  told().followed.clear();
  told().created.clear();
}

}  // namespace
}  // namespace inferflux::serving
