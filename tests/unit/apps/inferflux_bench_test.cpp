#include <gtest/gtest.h>

#include "apps/inferflux_bench/profiled_engine.h"
#include "apps/inferflux_bench/report.h"
#include "apps/inferflux_bench/synthetic_model.h"
#include "apps/inferflux_bench/workload.h"
#include "base/half.h"
#include "compute/cpu/kernels/select_isa.h"
#include "engine/native/native_backends.h"
#include "formats/quant/blocks.h"
#include "model/families/family.h"
#include "model/families/golden.h"

namespace inferflux::apps {
namespace {

TEST(InferfluxBenchTest, NamesTestsAsTheFieldDoes) {
  EXPECT_EQ((Workload{.prompt = 512}).name(), "pp512");
  EXPECT_EQ((Workload{.decode = 64}).name(), "tg64");
  EXPECT_EQ((Workload{.decode = 64, .depth = 4096}).name(), "tg64@d4096");
  EXPECT_EQ((Workload{.decode = 64, .batch = 16}).name(), "tg64xb16");
}

// A machine of 5 GB/s reads 5 GB of weights in a second. Multiplying the same weights by 512 rows takes longer.
TEST(InferfluxBenchTest, HoldsDecodeAgainstBandwidthAndPrefillAgainstCompute) {
  const WorkModel work{.layer_bytes = 4e9,
                       .output_bytes = 1e9,
                       .layer_operations = 8e9,
                       .output_operations = 2e9,
                       .kv_bytes = 1e5,
                       .attention_operations = 1e5,
                       .unit = MatmulUnit::kInt8};
  const Ceilings ceilings{.read_bytes = 5e9, .int8_operations = 1e12, .float_operations = 1e11};
  const Bound decode = LeastTime(work, StepShape{.position = 0}, ceilings);
  EXPECT_STREQ(decode.name, "bandwidth");
  EXPECT_NEAR(decode.seconds, 1.0, 1e-3);
  const Bound deep = LeastTime(work, StepShape{.position = 50000}, ceilings);
  EXPECT_NEAR(deep.seconds, 2.0, 1e-3);  // as much KV as weights
  const Bound prefill = LeastTime(work, StepShape{.tokens = 512}, ceilings);
  EXPECT_STREQ(prefill.name, "compute");
  EXPECT_NEAR(prefill.seconds, 512 * 8e9 / 1e12 + 0.002 + 512 * 256.5 * 1e5 / 1e11, 1e-6);
}

// In the last layer, all rows but the prompt's last stop after their K/V are written.
TEST(InferfluxBenchTest, CountsTheLastLayerForRowsThatAreAskedFor) {
  const WorkModel work{.layer_operations = 8e9,
                       .attention_operations = 1e5,
                       .last_operations = 1e9,
                       .last_attention_operations = 5e4,
                       .unit = MatmulUnit::kInt8};
  const Ceilings ceilings{.read_bytes = 5e9, .int8_operations = 1e12, .float_operations = 1e11};
  EXPECT_NEAR(LeastTime(work, StepShape{.tokens = 512}, ceilings).seconds,
              (512 * 7e9 + 1e9) / 1e12 + 256.5 * (512 * 5e4 + 5e4) / 1e11, 1e-9);
  EXPECT_NEAR(LeastTime(work, StepShape{.sequences = 4}, ceilings).seconds, 4 * 8e9 / 1e12 + 4e5 / 1e11, 1e-9);
}

WorkModel WorkOf(const std::string& path) {
  const auto source = model::ModelSource::Open(model::testing::DataPath(path));
  EXPECT_TRUE(source) << source.error().message;
  const auto config = model::ReadModelConfig(**source);
  EXPECT_TRUE(config) << config.error().message;
  ThreadPool pool(1);
  return DescribeWork(**source, *config, 64, &pool);
}

TEST(InferfluxBenchTest, ReckonsWithADirectoryAsWithItsFile) {
  for (const std::string name : {"llama3", "qwen2_moe"}) {
    const WorkModel file = WorkOf("models/" + name + ".gguf"), directory = WorkOf("models/" + name + "-hf");
    EXPECT_EQ(file.layer_operations, directory.layer_operations) << name;
    EXPECT_EQ(file.output_operations, directory.output_operations) << name;
    EXPECT_EQ(file.last_operations, directory.last_operations) << name;
    EXPECT_EQ(file.kv_bytes, directory.kv_bytes) << name;
  }
}

TEST(InferfluxBenchTest, ReckonsWithWhatAPackedDirectoryHolds) {
  const WorkModel ints = WorkOf("checkpoints/gptq_act_order-hf"), floats = WorkOf("checkpoints/fp8-hf");
  const double weights = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 128, groups = weights / 32;
  EXPECT_EQ(ints.layer_bytes, weights / 2 + groups * 2 + groups / 2) << "numbers, scales, zero points";
  EXPECT_EQ(ints.unit, MatmulUnit::kInt8);
  EXPECT_EQ(floats.layer_bytes, weights + weights / 32 / 32 * 4);
  EXPECT_EQ(floats.unit, MatmulUnit::kFloat);
}

// Two matrices of 32 outputs. The values of one are within 16 of each other.
TEST(InferfluxBenchTest, ReckonsWithFourBitsWhereTheCpuHoldsFour) {
  constexpr int64_t kRows = 32, kCols = 256, kBlocks = kRows * kCols / 32;
  std::vector<formats::BlockQ8_0> narrow(kBlocks, formats::BlockQ8_0{.d = ToFp16(1.0f), .qs = {}}), wide = narrow;
  for (int64_t b = 0; b < kBlocks; ++b) {
    for (int i = 0; i < 32; ++i) {
      narrow[b].qs[i] = static_cast<int8_t>((b + i) % 16 - 5);
      wide[b].qs[i] = static_cast<int8_t>(i * 8 - 128);
    }
  }
  const auto bytes = [&](const std::vector<formats::BlockQ8_0>& blocks, bool packs = true) {
    const auto data = std::as_bytes(std::span(blocks));
    const compute::HostMatrix matrix{"blk.0.ffn_up.weight", formats::TensorType::kQ8_0, kRows, kCols, data, nullptr};
    const model::ModelSource source("test", "gguf", {}, {{matrix, nullptr, {}, std::ssize(data)}}, nullptr);
    model::ModelConfig config;
    config.layers = 1;
    ThreadPool pool(1);
    return DescribeWork(source, config, 64, packs ? &pool : nullptr).layer_bytes;
  };
  EXPECT_EQ(bytes(wide), kBlocks * 34.0);
  EXPECT_LT(bytes(narrow), kBlocks * 20.0);
  EXPECT_GT(bytes(narrow), kBlocks * 16.0);
  EXPECT_EQ(bytes(narrow, false), kBlocks * 34.0) << "a GPU reads them as they are";
}

TEST(InferfluxBenchTest, MakesModelsThatLoadAndRun) {
  for (const char* type : {"Q4_K_M", "F16"}) {
    const auto synthetic = SyntheticModel::Make("tiny", type);
    ASSERT_TRUE(synthetic) << synthetic.error().message;
    auto source = model::ModelSource::Open(synthetic->path());
    ASSERT_TRUE(source) << source.error().message;
    auto config = model::ReadModelConfig(**source);
    ASSERT_TRUE(config) << config.error().message;
    ThreadPool pool(1);
    auto engine = engine::CreateEngine(
        "cpu", *config, *source, {.context = 128, .kv_bytes = 8 << 20, .device = {.pool = &pool}, .time_steps = true});
    ASSERT_TRUE(engine) << engine.error().message;
    for (const Workload& test : {Workload{.prompt = 33}, Workload{.decode = 3, .depth = 40, .batch = 2}}) {
      Profile none;
      const auto times = Time(**engine, test, 2, none);
      ASSERT_TRUE(times) << times.error().message;
      ASSERT_EQ(times->size(), 2u);
      for (const Timing& each : *times) {
        EXPECT_GT(each.device_seconds, 0);
        EXPECT_LE(each.device_seconds, each.seconds);
      }
    }
  }
}

// 3 GB in a second, of 6 GB that the machine can read. The report also shows the time between operations.
TEST(InferfluxBenchTest, ProfilesHoldEachOperationAgainstItsOwnCeiling) {
  Profile profile;
  profile.Add("rope", 0.25, {});
  for (int call = 0; call < 2; ++call) profile.Add("product", 0.5, {.bytes = 1.5e9, .int8_operations = 1e9});
  const auto lines = profile.Lines(2.0, {.read_bytes = 6e9, .int8_operations = 1e12, .float_operations = 1e11});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].operation, "product");
  EXPECT_EQ(lines[0].calls, 2);
  EXPECT_NEAR(lines[0].time_share, 0.5, 1e-9);
  EXPECT_NEAR(lines[0].ceiling_share, 0.5, 1e-9);
  EXPECT_EQ(lines[1].operation, "rope");
  EXPECT_EQ(lines[1].ceiling_share, 0.0);
  EXPECT_EQ(lines[2].operation, "between operations");
  EXPECT_NEAR(lines[2].time_share, 0.375, 1e-9);
}

// Every operation of a step is timed, so nearly all of the step's time is attributed.
TEST(InferfluxBenchTest, ProfilesAWholeStep) {
  const auto synthetic = SyntheticModel::Make("tiny", "Q4_K_M");
  ASSERT_TRUE(synthetic) << synthetic.error().message;
  auto source = model::ModelSource::Open(synthetic->path());
  auto config = model::ReadModelConfig(**source);
  ThreadPool pool(1);
  Profile profile;
  auto engine = CreateProfiledEngine(pool, profile, *config, *source, {.context = 128, .kv_bytes = 8 << 20});
  ASSERT_TRUE(engine) << engine.error().message;
  // Other work may take the thread away between two operations: the best of several runs counts.
  std::vector<ProfileLine> lines;
  for (int run = 0; run < 10 && (lines.empty() || lines.back().time_share >= 0.5); ++run) {
    const auto times = Time(**engine, Workload{.prompt = 64}, 1, profile);
    ASSERT_TRUE(times) << times.error().message;
    lines = profile.Lines(times->front().seconds, {1e9, 1e9, 1e9, 1e9});
  }
  EXPECT_LT(lines.back().time_share, 0.5);
  int64_t attended = 0, products = 0;
  for (const ProfileLine& line : lines) {
    if (line.operation == "attend") attended += line.calls;
    if (line.operation.find("packed as") != std::string::npos) products += line.calls;
  }
  EXPECT_EQ(attended, 4);          // layers
  EXPECT_EQ(products, 4 * 4 + 1);  // qkv, output, gate and up, down; logits
}

// Three layers of LFM2's five keep the last three rows of 18 values, and two attend, with three heads of 20.
TEST(InferfluxBenchTest, ReckonsWithRecurrentStatesAndHasRoomForThem) {
  auto source = model::ModelSource::Open(model::testing::DataPath("models/lfm2.gguf"));
  ASSERT_TRUE(source) << source.error().message;
  const auto config = model::ReadModelConfig(**source);
  ASSERT_TRUE(config) << config.error().message;
  ThreadPool pool(1);
  const int64_t token = compute::KvTokenBytes("fp16", KvLayers(*config));
  const WorkModel work = DescribeWork(**source, *config, token, &pool);
  EXPECT_EQ(work.state_bytes, 3 * 3 * 18 * 4);
  EXPECT_EQ(work.attention_operations, 2 * 4.0 * 3 * 20);
  EXPECT_EQ(work.last_attention_operations, 0.0);
  const Ceilings slow{.read_bytes = 1e3, .int8_operations = 1e12, .bf16_operations = 1e12, .float_operations = 1e12};
  const double one = LeastTime(work, StepShape{}, slow).seconds;
  const double two = LeastTime(work, StepShape{.sequences = 2}, slow).seconds;
  EXPECT_NEAR((two - one) * 1e3, static_cast<double>(token) + 2 * work.state_bytes, 1e-3)
      << "KV, and states there and back";

  const Workload test{.decode = 3, .depth = 40, .batch = 9};
  const int64_t memory = MemoryFor(work, 64, test.batch);
  auto engine =
      engine::CreateEngine("cpu", *config, *source,
                           {.context = 64, .max_sequences = test.batch, .kv_bytes = memory, .device = {.pool = &pool}});
  ASSERT_TRUE(engine) << engine.error().message;
  Profile none;
  const auto times = Time(**engine, test, 1, none);
  EXPECT_TRUE(times) << times.error().message;
}

TEST(InferfluxBenchTest, RefusesUnknownShapesAndTypes) {
  EXPECT_EQ(SyntheticModel::Make("llama9", "F16").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(SyntheticModel::Make("tiny", "Q99").error().code, ErrorCode::kInvalidArgument);
}

// A device copies 2 TB/s and multiplies 500 TFLOP/s, whatever the weights' type.
TEST(InferfluxBenchTest, HoldsADeviceAgainstItsOwnRates) {
  const Ceilings ceilings = CeilingsOf({.copy_bytes = 2e12, .tensor_operations = 5e14});
  for (const MatmulUnit unit : {MatmulUnit::kInt8, MatmulUnit::kBf16, MatmulUnit::kFloat}) {
    const WorkModel work{.layer_bytes = 1.6e10, .layer_operations = 1.6e10, .unit = unit};
    const Bound decode = LeastTime(work, StepShape{}, ceilings);
    EXPECT_STREQ(decode.name, "bandwidth");
    EXPECT_NEAR(decode.seconds, 0.008, 1e-9);
    const Bound prefill = LeastTime(work, StepShape{.tokens = 4096}, ceilings);
    EXPECT_STREQ(prefill.name, "compute");
    EXPECT_NEAR(prefill.seconds, 4096 * 1.6e10 / 5e14, 1e-9);
  }
}

TEST(InferfluxBenchTest, MeasuresCeilings) {
  ThreadPool pool(1);
  auto meter = CeilingMeter::Create(pool, compute::cpu::KernelsFor(*compute::cpu::SelectCpuIsa()));
  ASSERT_TRUE(meter);
  const Ceilings ceilings = meter->Measure(0.05);
  EXPECT_GT(ceilings.read_bytes, 1e8);
  EXPECT_GT(ceilings.int8_operations, 1e8);
  EXPECT_GT(ceilings.bf16_operations, 1e8);
  EXPECT_GT(ceilings.float_operations, 1e8);
}

TEST(InferfluxBenchTest, TheTableNamesTheDeviceWhoseCeilingItIs) {
  const std::string table = Table({{.backend = "cpu", .isa = "avx2", .threads = 2, .model = "m", .type = "F16"},
                                   {.backend = "cuda", .device = "NVIDIA L4", .isa = "avx2", .model = "m"}});
  EXPECT_NE(table.find("cpu (avx2), 2 threads, m F16\n"), std::string::npos) << table;
  EXPECT_NE(table.find("cuda, NVIDIA L4, m"), std::string::npos) << table;
}

TEST(InferfluxBenchTest, JsonHasAFieldForEachFigure) {
  const std::string json =
      Json({{.test = "pp512", .tokens_per_second = 2.5, .bound = "compute", .isa = "avx2", .threads = 2}});
  for (const char* part : {"\"test\":\"pp512\"", "\"tokens_per_second\":2.5", "\"bound\":\"compute\"",
                           "\"isa\":\"avx2\"", "\"threads\":2", "\"ceiling_share\":0", "\"device_share\":0",
                           "\"stddev\":0", "\"backend\"", "\"device\"", "\"model\"", "\"type\""}) {
    std::string compact;
    for (const char c : json) {
      if (c != ' ') compact += c;
    }
    const auto at = compact.find(part);
    EXPECT_NE(at, std::string::npos) << part << " in " << json;
  }
}

}  // namespace
}  // namespace inferflux::apps
