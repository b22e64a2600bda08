// The difference between the cpu backend and the reference on the same dequantised weights, for each weight type and KV
// type, on the bundled model. docs/parity.md has the table that this test prints, with the bounds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/thread_pool.h"
#include "engine/engine.h"
#include "formats/quantize/quantize_gguf.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::serving {
namespace {

struct Case {
  const char* weights;  // a mix by name
  const char* kv;
  double bound;  // the largest |a - b| / |b| over positions
};

class WeightParity : public ::testing::TestWithParam<Case> {};

std::filesystem::path Quantized(const char* mix) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("inferflux_parity_{}_{}.gguf", mix, ::getpid());
  const auto file = formats::GgufFile::Open(std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf");
  EXPECT_TRUE(file) << file.error().message;
  const auto found = formats::FindQuantMix(mix);
  EXPECT_TRUE(found) << found.error().message;
  std::ofstream out(path, std::ios::binary);
  ThreadPool pool(2);
  const auto done = formats::QuantizeGguf(**file, out, {.mix = *found}, pool, [](uint64_t, uint64_t, const auto&) {});
  EXPECT_TRUE(done) << done.error().message;
  return path;
}

std::vector<std::vector<float>> Logits(Target target, const std::shared_ptr<const model::ModelSource>& source,
                                       const char* kv) {
  ThreadPool pool(2);
  std::vector<std::vector<float>> out;
  for (const EngineEntry& entry : BuiltInEngines(pool)) {
    if (entry.target != target || entry.provider != Provider::kNative) continue;
    const auto engine = entry.make({.source = source, .config = {.kv_dtype = kv, .kv_budget = 16 << 20}});
    if (!engine) {
      ADD_FAILURE() << engine.error().message;
      continue;
    }
    std::vector<TokenId> tokens;
    for (int i = 0; i < 48; ++i) tokens.push_back((i * 37 + 11) % 3000);
    const auto opened = (*engine)->Open(tokens, 0);
    EXPECT_TRUE(opened && (*engine)->Reserve(opened->sequence, static_cast<int32_t>(tokens.size())));
    engine::BatchItem item{.sequence = opened->sequence, .tokens = tokens};
    for (int32_t i = 0; i < 48; ++i) item.outputs.push_back({i, engine::OutputSpec::Kind::kLogits});
    auto step = (*engine)->ExecuteUnifiedBatch({.items = {item}});
    if (!step) {
      ADD_FAILURE() << step.error().message;
      continue;
    }
    for (auto& output : step->items[0]) out.push_back(std::move(output.logits));
  }
  return out;
}

TEST_P(WeightParity, CpuStaysWithinItsBound) {
  const auto path = Quantized(GetParam().weights);
  const auto source = model::ModelSource::Open(path.string());
  ASSERT_TRUE(source) << source.error().message;
  const auto expected = Logits(Target::kReference, *source, GetParam().kv);
  const auto actual = Logits(Target::kCpu, *source, GetParam().kv);
  std::filesystem::remove(path);
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_FALSE(actual.empty());
  double worst = 0.0, total = 0.0;
  for (size_t position = 0; position < actual.size(); ++position) {
    double difference = 0.0, norm = 0.0;
    for (size_t i = 0; i < expected[position].size(); ++i) {
      const double apart = double{actual[position][i]} - expected[position][i];
      difference += apart * apart;
      norm += double{expected[position][i]} * expected[position][i];
    }
    const double error = std::sqrt(difference / norm);
    worst = std::max(worst, error);
    total += error;
  }
  fmt::print("| {} | {} | {:.1e} | {:.1e} | {} |\n", GetParam().weights, GetParam().kv,
             total / static_cast<double>(actual.size()), worst, GetParam().bound);
  EXPECT_LT(worst, GetParam().bound);
}

INSTANTIATE_TEST_SUITE_P(Types, WeightParity,
                         ::testing::Values(Case{"F32", "fp32", 1e-4}, Case{"BF16", "fp32", 0.1},
                                           Case{"F16", "fp32", 1e-4}, Case{"F32", "fp16", 5e-3},
                                           Case{"F32", "bf16", 3e-2}, Case{"F32", "int8", 3e-2},
                                           Case{"F32", "fp8", 0.15}, Case{"Q8_0", "fp32", 0.25},
                                           Case{"Q4_0", "fp32", 0.25}, Case{"Q4_K_M", "fp32", 0.25},
                                           Case{"Q5_K_M", "fp32", 0.25}, Case{"Q6_K", "fp32", 0.25}),
                         [](const auto& info) { return fmt::format("{}_{}", info.param.weights, info.param.kv); });

}  // namespace
}  // namespace inferflux::serving
