// The memory that a model gets of a pool's budget: exactly so much, whoever is there already. The engines are started
// elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/host_memory.h"
#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "metrics/registry.h"
#include "serving/models/load_testing.h"
#include "serving/pool/model_pool.h"

namespace inferflux::serving {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::EntryOf;

constexpr int64_t kMiB = 1 << 20;

class PoolReservation : public ::testing::Test {
 protected:
  PoolReservation() : folder_(fs::path(::testing::TempDir()) / ("reservation_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~PoolReservation() override { fs::remove_all(folder_); }

  // A model with the vocabulary of the bundled one and so many bytes of weights, which take no room on the disk.
  std::string Weights(const std::string& name, uint64_t rows, uint64_t cols) const {
    const auto file = formats::GgufFile::Open(testing::kTinyFile);
    EXPECT_TRUE(file);
    const fs::path path = folder_ / (name + ".gguf");
    {
      std::ofstream out(path, std::ios::binary);
      formats::GgufWriter writer(out);
      for (const auto& entry : (*file)->metadata().entries()) writer.Copy(entry);
      EXPECT_TRUE(writer.AddTensor("weights", formats::TensorType::kF32, std::vector<uint64_t>{cols, rows}));
      EXPECT_TRUE(writer.WriteHeader());
    }
    fs::resize_file(path, fs::file_size(path) + rows * cols * 4);
    return path;
  }
  // A file of so many MiB of weights, and of 4 bytes more.
  std::string WeightsOf(const std::string& name, uint64_t mib, uint64_t more = 0) const {
    return Weights(name, 1, mib * kMiB / 4 + more);
  }
  LoadRequest Request(const std::string& id, const std::string& path) {
    LoadRequest out{.id = id, .path = path, .requested_backend = "cpu"};
    out.start = starts_.starter();
    return out;
  }
  // "kv used": what the model may use for KV, and what the pool says that all use, while it is being loaded.
  std::string Granted(ModelPool& pool, LoadRequest request) {
    std::string out;
    starts_.during = [&] {
      const auto kv = starts_.starts.back().request.config.kv_budget;
      out = (kv ? std::to_string(*kv) : "none") + " " + std::to_string(pool.use().used);
    };
    const auto loaded = pool.Load(std::move(request));
    starts_.during = {};
    return loaded ? out : loaded.error().message;
  }
  static std::string Text(int64_t kv, int64_t used) { return std::to_string(kv) + " " + std::to_string(used); }
  // The gauge of what all models hold.
  std::string Gauge() const {
    const std::string text = prometheus::TextSerializer().Serialize(metrics_.Collectable().Collect());
    const std::string name = "\ninferflux_pool_used_bytes ";
    const size_t at = text.find(name) + name.size();
    return text.substr(at, text.find('\n', at) - at);
  }
  static std::vector<std::string> Ids(const ModelPool& pool) {
    std::vector<std::string> out;
    for (const auto& model : pool.List()) out.push_back(model->id);
    return out;
  }
  // The engine reports that it holds this.
  void Holds(int64_t weights, int64_t kv) {
    starts_.info.memory = {{.device = "cpu", .weight_bytes = weights, .kv_bytes = kv}};
  }

  const fs::path folder_;
  testing::FakeStarts starts_;
  metrics::Registry metrics_;
  BackendFactory factory_{{EntryOf(Target::kCpu), EntryOf(Target::kReference),
                           EntryOf(Target::kCuda, Provider::kNative,
                                   [] { return std::vector<compute::Device>{{.name = "card", .gpu = true}}; })},
                          {}};
};

TEST_F(PoolReservation, WhatIsSetForKvIsGranted) {
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = 64 * kMiB});
  LoadRequest request = Request("m", WeightsOf("m", 2));
  request.config.kv_budget = 24 * kMiB;
  EXPECT_EQ(Granted(pool, request), Text(24 * kMiB, 26 * kMiB));
  ASSERT_TRUE(pool.Unload("m", 0ms));
  EXPECT_EQ(pool.use().used, 0);
  request.draft = WeightsOf("draft", 1);
  EXPECT_EQ(Granted(pool, request), Text(24 * kMiB, 30 * kMiB)) << "and 1 MiB and an eighth for its draft";
}

TEST_F(PoolReservation, OtherwiseHalfOfWhatIsLeftIsGranted) {
  const std::string path = WeightsOf("m", 2);
  const auto granted = [&](int64_t budget, const std::string& draft = "") {
    ModelPool pool(factory_, metrics_, {}, {.memory_budget = budget});
    LoadRequest request = Request("m", path);
    request.draft = draft;
    return Granted(pool, request);
  };
  EXPECT_EQ(granted(66 * kMiB), Text(64 * kMiB, 66 * kMiB)) << "64 MiB at least";
  EXPECT_EQ(granted(130 * kMiB), Text(64 * kMiB, 66 * kMiB));
  EXPECT_EQ(granted(132 * kMiB), Text(65 * kMiB, 67 * kMiB));
  EXPECT_EQ(granted(202 * kMiB), Text(100 * kMiB, 102 * kMiB));
  EXPECT_EQ(granted(66 * kMiB - 1),
            "the model 'm' needs 66 MiB (2 MiB of weights, the rest for keys and values), and 66 MiB of the pool's 66 "
            "MiB are free: no model holds any of it; unload one that is pinned or in use, or raise "
            "runtime.memory_budget");
  const std::string draft = WeightsOf("draft", 1);
  EXPECT_EQ(granted(75 * kMiB, draft), Text(64 * kMiB, 75 * kMiB)) << "with its draft's 1 MiB and 8 for its KV";
  EXPECT_EQ(granted(171 * kMiB, draft), Text(80 * kMiB, 93 * kMiB));
}

TEST_F(PoolReservation, WhatTheMachineHasNotIsNotGranted) {
  // Weights of 64 GiB: the file is empty but for its beginning.
  const int64_t weights = int64_t{64} << 30;
  const std::string path = Weights("large", 1 << 17, 1 << 17);
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = int64_t{1} << 50});
  const int64_t free = ReadHostMemory().free;
  int64_t granted = 0;
  starts_.during = [&] { granted = starts_.starts.back().request.config.kv_budget.value_or(0); };
  ASSERT_TRUE(pool.Load(Request("large", path)));
  EXPECT_GE(granted, 64 * kMiB);
  EXPECT_LE(granted, std::max(64 * kMiB, (free - weights / 2) / 2)) << "half of what the weights leave free";
}

TEST_F(PoolReservation, ADevicesMemoryIsNotOfTheBudget) {
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = kMiB});
  LoadRequest request = Request("m", WeightsOf("m", 2));
  request.requested_backend = "native_cuda";
  EXPECT_EQ(Granted(pool, request), "none 0");
  request.id = "n";
  request.config.kv_budget = 5;
  EXPECT_EQ(Granted(pool, request), "5 0");
  Holds(7, 8);
  request.id = "o";
  ASSERT_TRUE(pool.Load(request));
  EXPECT_EQ(pool.use().used, 0) << "what its engine reports is the device's";
}

TEST_F(PoolReservation, AnEngineThatFailedGivesItsShareBack) {
  starts_.faults["cpu/native"] = {ErrorCode::kIo, "broken"};
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = 66 * kMiB});
  LoadRequest request = Request("m", WeightsOf("m", 2));
  request.requested_backend = "cpu,reference";
  EXPECT_EQ(Granted(pool, request), Text(64 * kMiB, 66 * kMiB));
  EXPECT_EQ((*pool.GetLoadedModel("m"))->exposure.exposed_backend, "reference");
}

TEST_F(PoolReservation, AModelHoldsWhatItsEngineReports) {
  Holds(3 * kMiB, 40 * kMiB);
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = 100 * kMiB});
  std::string reserved;
  LoadRequest request = Request("m", WeightsOf("m", 2));
  request.config.kv_budget = 30 * kMiB;
  starts_.during = [&] { reserved = Gauge(); };
  ASSERT_TRUE(pool.Load(request));
  EXPECT_EQ(reserved, std::to_string(32 * kMiB)) << "while it is being loaded";
  EXPECT_EQ(Gauge(), std::to_string(43 * kMiB));
  EXPECT_EQ(pool.use().used, 43 * kMiB);
  EXPECT_EQ(pool.Stay("m")->bytes, 43 * kMiB);
  ASSERT_EQ(pool.use().holders.size(), 1u);
  EXPECT_EQ(pool.use().holders[0].id, "m");
  ASSERT_TRUE(pool.Unload("m", 10s));
  EXPECT_EQ(Gauge(), "0");
}

TEST_F(PoolReservation, AModelLeavesExactlyWhenItsRoomIsEnough) {
  Holds(2 * kMiB, 20 * kMiB);
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = 50 * kMiB});
  LoadRequest first = Request("a", WeightsOf("a", 2));
  first.config.kv_budget = 20 * kMiB;
  ASSERT_TRUE(pool.Load(first));
  LoadRequest large = Request("b", WeightsOf("b", 2));
  large.config.kv_budget = 48 * kMiB + 1;
  EXPECT_EQ(Granted(pool, large),
            "the model 'b' needs 51 MiB (2 MiB of weights, the rest for keys and values), and 28 MiB of the pool's 50 "
            "MiB are free: a 22 MiB holds it; unload one that is pinned or in use, or raise runtime.memory_budget");
  EXPECT_THAT(Ids(pool), ElementsAre("a"));
  large.config.kv_budget = 48 * kMiB;
  EXPECT_EQ(Granted(pool, large), Text(48 * kMiB, 50 * kMiB));
  EXPECT_THAT(Ids(pool), ElementsAre("b"));
}

TEST_F(PoolReservation, OnlyAsManyModelsLeaveAsMustAndThePinnedStay) {
  Holds(kMiB, 9 * kMiB);
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = 40 * kMiB});
  const std::string path = WeightsOf("small", 1);
  const auto load = [&](const std::string& id, int64_t kv, bool pinned = false) {
    LoadRequest request = Request(id, path);
    request.config.kv_budget = kv;
    request.pinned = pinned;
    return pool.Load(request).has_value();
  };
  ASSERT_TRUE(load("pinned", 9 * kMiB, true));
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(load(id, 9 * kMiB)) << id;
  EXPECT_EQ(pool.use().used, 40 * kMiB);
  Holds(kMiB, 18 * kMiB);
  ASSERT_TRUE(load("d", 18 * kMiB));
  EXPECT_THAT(Ids(pool), ElementsAre("pinned", "c", "d"));
  EXPECT_EQ(Gauge(), std::to_string(pool.use().used));
  EXPECT_FALSE(load("e", 30 * kMiB)) << "the pinned one's share would be needed";
  EXPECT_THAT(Ids(pool), ElementsAre("pinned", "c", "d"));
}

TEST_F(PoolReservation, TheBudgetIsShownFromTheBeginning) {
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = 1});
  EXPECT_EQ(pool.use().budget, 1);
  EXPECT_EQ(Gauge(), "0");
  EXPECT_GT(ModelPool(factory_, metrics_, {}, {}).use().budget, 64 * kMiB) << "none is set";
}

TEST_F(PoolReservation, SizesAreRoundedUpToMebibytes) {
  ModelPool pool(factory_, metrics_, {}, {.memory_budget = kMiB});
  LoadRequest request = Request("m", WeightsOf("m", 2, 1));
  request.config.kv_budget = kMiB - 4;
  EXPECT_EQ(Granted(pool, request).substr(0, 54), "the model 'm' needs 3 MiB (3 MiB of weights, the rest ");
  request = Request("m", WeightsOf("n", 2));
  request.config.kv_budget = 1;
  EXPECT_EQ(Granted(pool, request).substr(0, 54), "the model 'm' needs 3 MiB (2 MiB of weights, the rest ");
}

}  // namespace
}  // namespace inferflux::serving
