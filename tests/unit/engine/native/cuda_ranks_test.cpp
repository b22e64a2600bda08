// A model that two ranks share on CUDA's host executor, as threads with a device each, against one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collective/shared_memory/shared_memory_collective.h"
#include "compute/cuda/cuda_backend.h"
#include "compute/cuda/host_runtime.h"
#include "compute/cuda/nccl/host_nccl.h"
#include "engine/native/native_engine.h"
#include "engine/native/ranks/follow.h"
#include "model/families/family.h"

namespace inferflux::engine {
namespace {

using compute::Cuda;
using compute::KvFp16;

std::shared_ptr<const model::ModelSource> SourceOf(const std::string& name) {
  const auto path = std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / (name + ".gguf");
  auto source = model::ModelSource::Open(path.string());
  EXPECT_TRUE(source) << source.error().message;
  return *source;
}

using Network = std::shared_ptr<cuda::HostNcclNetwork>;

// With NCCL's place taken, where there is a network.
std::unique_ptr<Cuda::Context> DeviceOfItsOwn(const Network& network = nullptr) {
  auto runtime = *cuda::HostRuntime::Open({.checked = false});
  cuda::HostRuntime& device = *runtime;
  auto context = Cuda::Context::Open(std::move(runtime));
  EXPECT_TRUE(context) << context.error().message;
  if (network) {
    (*context)->open_nccl = [network, &device]() -> Result<std::unique_ptr<cuda::Nccl>> {
      return std::make_unique<cuda::HostNccl>(network, device);
    };
  }
  return std::move(*context);
}

EngineOptions Options(model::Parallelism parallelism, std::shared_ptr<collective::Collective> ranks) {
  EngineOptions out{.max_sequences = 4, .block_size = 16, .kv_bytes = 1 << 20, .kv_dtype = "fp16"};
  out.parallelism = parallelism;
  out.ranks = std::move(ranks);
  return out;
}

// The logits after a prompt, and after each of five more tokens.
std::vector<std::vector<float>> LogitsOf(Engine& engine) {
  std::vector<std::vector<float>> out;
  const SequenceId sequence = engine.Open({}, 1)->sequence;
  std::vector<TokenId> tokens{5, 9, 3, 14, 7, 2, 11, 6, 8, 4, 12};
  for (int32_t at = 0; at < 16; at += static_cast<int32_t>(tokens.size()), tokens = {3 + at}) {
    EXPECT_TRUE(engine.Reserve(sequence, at + static_cast<int32_t>(tokens.size())));
    BatchItem item{.sequence = sequence, .tokens = tokens, .first_position = at};
    item.outputs = {{.token_index = static_cast<int32_t>(tokens.size()) - 1, .kind = OutputSpec::Kind::kLogits}};
    auto result = engine.ExecuteUnifiedBatch({.items = {item}});
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return out;
    out.push_back(result->items[0][0].logits);
  }
  return out;
}

// `through`: the end of the model's note on its ranks.
std::vector<std::vector<float>> OfTwoRanks(const std::string& name, model::Parallelism parallelism,
                                           const Network& network = nullptr,
                                           const std::string& through = "shared memory") {
  const auto segment = *collective::Segment::Create(2, 4096);
  Status followed;
  std::thread other([&, ranks = std::shared_ptr(*collective::SharedMemoryCollective::Join(segment, 1))] {
    const auto source = SourceOf(name);
    const auto context = DeviceOfItsOwn(network);
    followed = Follow<Cuda, KvFp16>(*context, *model::ReadModelConfig(*source), source, Options(parallelism, ranks));
  });
  std::vector<std::vector<float>> out;
  {
    const auto source = SourceOf(name);
    auto engine =
        NativeEngine<Cuda, KvFp16>::Create(DeviceOfItsOwn(network), *model::ReadModelConfig(*source), source,
                                           Options(parallelism, *collective::SharedMemoryCollective::Join(segment, 0)));
    EXPECT_TRUE(engine) << engine.error().message;
    if (engine) {
      EXPECT_NE((*engine)->info().notes.back().find("through " + through), std::string::npos)
          << (*engine)->info().notes.back();
      out = LogitsOf(**engine);
    }
  }
  other.join();
  EXPECT_TRUE(followed) << followed.error().message;
  return out;
}

class CudaRanks : public ::testing::TestWithParam<const char*> {
 protected:
  static std::vector<std::vector<float>> OfOne() {
    const auto source = SourceOf(GetParam());
    auto engine = NativeEngine<Cuda, KvFp16>::Create(DeviceOfItsOwn(), *model::ReadModelConfig(*source), source,
                                                     Options({}, nullptr));
    EXPECT_TRUE(engine) << engine.error().message;
    return LogitsOf(**engine);
  }
};

// Sums of shards add in another order.
void ExpectNear(const std::vector<std::vector<float>>& right, const std::vector<std::vector<float>>& found) {
  ASSERT_EQ(found.size(), 6u);
  for (size_t i = 0; i < right.size(); ++i) {
    ASSERT_EQ(found[i].size(), right[i].size());
    float scale = 0.0f, most = 0.0f;
    for (size_t t = 0; t < right[i].size(); ++t) {
      scale = std::max(scale, std::abs(right[i][t]));
      most = std::max(most, std::abs(right[i][t] - found[i][t]));
    }
    EXPECT_LT(most, 1e-3f * scale) << "step " << i;  // keys and values are rounded to 16 bits
  }
}

TEST_P(CudaRanks, TensorParallelismGivesTheLogitsOfOneRank) {
  ExpectNear(OfOne(), OfTwoRanks(GetParam(), {.tensor = 2}));
}

TEST_P(CudaRanks, TensorParallelismThroughNcclsPlaceGivesTheLogitsOfOneRank) {
  const auto network = std::make_shared<cuda::HostNcclNetwork>();
  ExpectNear(OfOne(), OfTwoRanks(GetParam(), {.tensor = 2}, network, "NCCL 0.0.0"));
  EXPECT_GT(network->operations(), 2 * 6 * 2) << "each step has sums in every layer, of both ranks";
}

TEST_P(CudaRanks, PipelineParallelismThroughNcclsPlaceGivesTheBitsOfOneRank) {
  const auto network = std::make_shared<cuda::HostNcclNetwork>();
  EXPECT_EQ(OfTwoRanks(GetParam(), {.pipeline = 2}, network, "NCCL 0.0.0"), OfOne());
  EXPECT_GT(network->operations(), 2 * 6);
}

TEST_P(CudaRanks, PipelineParallelismGivesTheBitsOfOneRank) {
  const auto right = OfOne(), found = OfTwoRanks(GetParam(), {.pipeline = 2});
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found, right);
}

INSTANTIATE_TEST_SUITE_P(Families, CudaRanks, ::testing::Values("llama", "qwen3", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace inferflux::engine
