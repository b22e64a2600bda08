// What a token costs, tensor by tensor, of models that exist as shapes only.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferflux_bench/work_model.h"
#include "apps/inferflux_bench/workload.h"
#include "base/half.h"
#include "compute/cpu/packing/packed_matrix.h"
#include "formats/quant/blocks.h"

namespace inferflux::apps {
namespace {

using formats::TensorType;
using SourceTensor = model::ModelSource::Tensor;

SourceTensor Shaped(std::string name, int64_t rows, int64_t cols, int64_t bytes, TensorType type = TensorType::kF32) {
  return {{std::move(name), type, rows, cols, {}, nullptr}, nullptr, {}, bytes};
}

// Two layers with three heads of five, and four experts of which one is used.
model::ModelConfig TwoLayers() {
  model::ModelConfig config;
  config.layers = 2;
  config.heads = 3;
  config.head_dim = 5;
  config.layer_kinds.resize(2);
  for (model::LayerKind& kind : config.layer_kinds) kind.kv = {.heads = 1, .head_dim = 5};
  config.moe.experts = 4;
  config.moe.routing.used = 1;
  return config;
}

std::vector<SourceTensor> TensorsOfTwoLayers() {
  return {Shaped("token_embd.weight", 10, 4, 1'000'000),
          Shaped("blk.0.attn_norm.weight", 1, 4, 7'000'000),
          Shaped("blk.0.attn_q.weight", 2, 3, 1),
          Shaped("blk.0.ffn_up.weight", 3, 3, 2),
          Shaped("blk.1.attn_q.weight", 2, 5, 10),
          Shaped("blk.1.attn_k.weight", 3, 5, 100),
          Shaped("blk.1.attn_v.weight", 3, 7, 1'000),
          Shaped("blk.1.attn_qkv.weight", 4, 7, 10'000),
          Shaped("blk.1.ffn_up_exps.weight", 8, 9, 400'000),
          Shaped("other.weight", 5, 5, 9'000'000)};
}

WorkModel WorkOf(std::vector<SourceTensor> tensors, const model::ModelConfig& config, ThreadPool* packs = nullptr) {
  const model::ModelSource source("test", "gguf", {}, std::move(tensors), nullptr);
  return DescribeWork(source, config, 64, packs);
}

TEST(BenchWork, EachMatrixOfALayerCountsOnce) {
  const WorkModel work = WorkOf(TensorsOfTwoLayers(), TwoLayers());
  EXPECT_EQ(work.layer_operations, 2 * (6 + 9 + 10 + 15 + 21 + 28 + 72 / 4));
  EXPECT_EQ(work.layer_bytes, 11'113 + 400'000 / 4);
  EXPECT_EQ(work.last_operations, 2 * (10 + 72 / 4)) << "of the last layer all but keys and values";
  EXPECT_EQ(work.output_operations, 2 * 40) << "the embedding makes the logits";
  EXPECT_EQ(work.output_bytes, 1'000'000);
  EXPECT_EQ(work.kv_bytes, 64);
  EXPECT_EQ(work.state_bytes, 0);
  EXPECT_EQ(work.attention_operations, 2 * 4 * 3 * 5);
  EXPECT_EQ(work.last_attention_operations, 4 * 3 * 5);
}

TEST(BenchWork, AMatrixForTheLogitsTakesThePlaceOfTheEmbedding) {
  auto tensors = TensorsOfTwoLayers();
  tensors.push_back(Shaped("output.weight", 10, 6, 77));
  const WorkModel work = WorkOf(std::move(tensors), TwoLayers());
  EXPECT_EQ(work.output_operations, 2 * 60);
  EXPECT_EQ(work.output_bytes, 77);
}

TEST(BenchWork, WithoutExpertsAllRowsAreRead) {
  model::ModelConfig config = TwoLayers();
  config.moe = {};
  EXPECT_EQ(WorkOf(TensorsOfTwoLayers(), config).layer_operations, 2 * (6 + 9 + 10 + 15 + 21 + 28 + 72));
  config.moe.experts = 1;
  config.moe.routing.used = 1;
  EXPECT_EQ(WorkOf(TensorsOfTwoLayers(), config).layer_operations, 2 * (6 + 9 + 10 + 15 + 21 + 28 + 72));
}

TEST(BenchWork, AnEncoderNeedsTheStateOfEachRow) {
  model::ModelConfig config = TwoLayers();
  config.causal = false;
  const WorkModel encoder = WorkOf(TensorsOfTwoLayers(), config);
  EXPECT_EQ(encoder.last_operations, 0);
  EXPECT_EQ(encoder.last_attention_operations, 0);
  EXPECT_EQ(encoder.attention_operations, 2 * 4 * 3 * 5);
  config = TwoLayers();
  config.layer_kinds[1].kv.heads = 0;
  const WorkModel half = WorkOf(TensorsOfTwoLayers(), config);
  EXPECT_EQ(half.attention_operations, 4 * 3 * 5);
  EXPECT_EQ(half.last_attention_operations, 0);
}

TEST(BenchWork, TheUnitIsThatOfMostWeights) {
  const auto unit = [](TensorType type, std::optional<SourceTensor::Layout> layout = {}) {
    std::vector<SourceTensor> tensors = {Shaped("blk.0.a.weight", 4, 32, 1, type)};
    tensors[0].layout = std::move(layout);
    tensors.push_back(
        Shaped("blk.0.b.weight", 3, 32, 1, type == TensorType::kF32 ? TensorType::kQ8_0 : TensorType::kF32));
    return WorkOf(std::move(tensors), TwoLayers()).unit;
  };
  EXPECT_EQ(unit(TensorType::kF32), MatmulUnit::kFloat);
  EXPECT_EQ(unit(TensorType::kF16), MatmulUnit::kFloat);
  EXPECT_EQ(unit(TensorType::kBf16), MatmulUnit::kBf16);
  EXPECT_EQ(unit(TensorType::kQ8_0), MatmulUnit::kInt8);
  EXPECT_EQ(unit(TensorType::kQ4_K), MatmulUnit::kInt8);
  EXPECT_EQ(unit(TensorType::kBf16, SourceTensor::Layout{formats::Fp8Layout{}, nullptr}), MatmulUnit::kFloat);
  EXPECT_EQ(unit(TensorType::kBf16, SourceTensor::Layout{formats::ActOrderLayout{.type = TensorType::kQ4_0}, nullptr}),
            MatmulUnit::kInt8);
}

TEST(BenchWork, TheLastPanelThatIsHeldInFourBitsMayHaveOneRow) {
  namespace cpu = compute::cpu;
  constexpr int64_t kCols = 64;
  ThreadPool pool(1);
  for (const int64_t more : {0, 1}) {
    const int64_t rows = cpu::kPanel + more;
    std::vector<formats::BlockQ8_0> narrow(static_cast<size_t>(rows * kCols / 32), {.d = ToFp16(1.0f), .qs = {}});
    for (auto& block : narrow) {
      for (int i = 0; i < 32; ++i) block.qs[i] = static_cast<int8_t>(i % 16 - 5);
    }
    SourceTensor tensor = Shaped("blk.0.ffn_up.weight", rows, kCols, 1'000'000, TensorType::kQ8_0);
    tensor.matrix.data = std::as_bytes(std::span(narrow));
    const int64_t panel = cpu::PanelBytes(cpu::FormatOf(tensor.matrix, pool), kCols);
    EXPECT_EQ(WorkOf({tensor}, TwoLayers(), &pool).layer_bytes, static_cast<double>((1 + more) * panel));
    EXPECT_EQ(WorkOf({tensor}, TwoLayers()).layer_bytes, 1'000'000);
    tensor.file_bytes = 5;
    EXPECT_EQ(WorkOf({tensor}, TwoLayers(), &pool).layer_bytes, 5) << "no more than the file has";
  }
  const std::vector<float> floats(kCols * 2);
  SourceTensor plain = Shaped("blk.0.ffn_up.weight", 2, kCols, 1'000'000);
  plain.matrix.data = std::as_bytes(std::span(floats));
  EXPECT_EQ(WorkOf({plain}, TwoLayers(), &pool).layer_bytes, 1'000'000) << "only Q8_0 is packed tighter";
  EXPECT_EQ(WorkOf({Shaped("blk.0.a.weight", 32, 32, 9, TensorType::kQ8_0)}, TwoLayers(), &pool).layer_bytes, 9);
}

TEST(BenchWork, ATestIsBoundByWhatItsLastStepIs) {
  const WorkModel work{.layer_bytes = 10, .layer_operations = 3};
  EXPECT_STREQ(LeastTime(work, Workload{.prompt = 8}, 4, {1, 1, 1, 1}).name, "compute");
  EXPECT_STREQ(LeastTime(work, Workload{.prompt = 7}, 4, {1, 1, 1, 1}).name, "bandwidth");
  EXPECT_STREQ(LeastTime(work, Workload{.decode = 8}, 4, {1, 1, 1, 1}).name, "bandwidth");
}

}  // namespace
}  // namespace inferflux::apps
