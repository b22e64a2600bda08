// Layers of one model may differ in their number of KV heads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/reference/reference_backend.h"
#include "model/families/golden.h"
#include "model/families/load_runner.h"
#include "model/loading/per_layer_kv_model.h"

namespace inferflux::model {
namespace {

constexpr int32_t kBlockSize = 16;
constexpr int32_t kPrefill = 9;
const std::vector<TokenId> kTokens{3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46, 26};

// Logits of all tokens; the last tokens are fed one by one.
template <class B>
std::vector<float> LogitsOf(typename B::Context& context, const std::string& path) {
  auto runner = testing::LoadRunner<B>(context, path);
  EXPECT_TRUE(runner) << runner.error().message;
  std::vector<float> out;
  for (int32_t first = 0; first < std::ssize(kTokens);) {
    const int32_t count = first == 0 ? kPrefill : 1;
    std::vector<int32_t> rows;
    for (int32_t r = 0; r < count; ++r) rows.push_back(r);
    const auto hidden = runner->Step(testing::OneSequence(kTokens, first, count, kBlockSize), rows);
    const auto logits = runner->Read(runner->Logits(hidden));
    out.insert(out.end(), logits.begin(), logits.end());
    first += count;
  }
  return out;
}

TEST(KvGeometry, IsReadLayerByLayer) {
  const auto source = ModelSource::Open(testing::PerLayerKvModel(true));
  ASSERT_TRUE(source) << source.error().message;
  const auto config = ReadModelConfig(**source);
  ASSERT_TRUE(config) << config.error().message;
  const auto layers = KvLayers(*config);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].heads, 2);
  EXPECT_EQ(layers[1].heads, 1);
  EXPECT_EQ(layers[1].head_dim, 8);
}

TEST(KvGeometry, ALayerWithOneHeadComputesWhatTwoEqualHeadsDo) {
  compute::Reference::Context context;
  const auto alike = LogitsOf<compute::Reference>(context, testing::PerLayerKvModel(false));
  const auto differ = LogitsOf<compute::Reference>(context, testing::PerLayerKvModel(true));
  ASSERT_EQ(alike.size(), differ.size());
  EXPECT_EQ(std::memcmp(alike.data(), differ.data(), alike.size() * sizeof(float)), 0);
}

TEST(KvGeometry, TheCpuAgreesWithTheReference) {
  compute::Reference::Context reference;
  ThreadPool pool(2);
  compute::Cpu::Context cpu(pool, *compute::cpu::SelectCpuIsa());
  const std::string path = testing::PerLayerKvModel(true);
  EXPECT_LT(testing::RelativeError(LogitsOf<compute::Cpu>(cpu, path), LogitsOf<compute::Reference>(reference, path)),
            1e-5);
}

TEST(KvGeometry, AListOfAnotherLengthOrWithUnevenHeadsIsRefused) {
  const auto refusal = [](std::vector<int32_t> heads) {
    const auto source = ModelSource::Open(testing::EditedModel("llama", [&](formats::GgufWriter& writer) {
      writer.SetArray("llama.attention.head_count_kv", std::span<const int32_t>(heads));
    }));
    return ReadModelConfig(**source).error().message;
  };
  EXPECT_THAT(refusal({2}), ::testing::HasSubstr("has 1 entries for 2 layers"));
  EXPECT_THAT(refusal({2, 3}), ::testing::HasSubstr("cannot share 3 KV heads evenly, in layer 1"));
  EXPECT_THAT(refusal({0, 2}), ::testing::HasSubstr("cannot share 0 KV heads evenly, in layer 0"));
}

}  // namespace
}  // namespace inferflux::model
