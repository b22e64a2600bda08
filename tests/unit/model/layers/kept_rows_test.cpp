// A step with some requested rows gives bit for bit the same results as a step in which all rows are requested.
#include "model/layers/kept_rows.h"

#include <string>

#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"
#include "model/families/family.h"
#include "model/families/golden.h"
#include "model/model_runner.h"

namespace inferflux::model {
namespace {

constexpr int32_t kBlockSize = 4;

// Two sequences: positions 0 to 8 of one, in the blocks 0 to 2, and positions 3 to 5 of another, in the blocks 7 and 5.
compute::StepGeometry TwoSequences() {
  compute::StepGeometry step;
  step.block_size = kBlockSize;
  for (int32_t i = 0; i < 9; ++i) step.positions.push_back(i);
  for (int32_t i = 3; i < 6; ++i) step.positions.push_back(i);
  for (int32_t i = 0; i < 12; ++i) step.tokens.push_back(10 + i);
  step.query_starts = {0, 9, 12};
  step.block_tables = {0, 1, 2, 7, 5};
  step.table_starts = {0, 3, 5};
  return step;
}

TEST(KeptRows, LieSideBySideAsASequence) {
  const std::vector<int32_t> outputs{11, 2, 3, 7, 3, 9, 8};
  const KeptRows kept = KeepRows(TwoSequences(), outputs);
  EXPECT_EQ(kept.rows, (std::vector<int32_t>{2, 3, 7, 8, 9, 11}));
  EXPECT_EQ(kept.output_row, (std::vector<int32_t>{5, 0, 1, 2, 1, 4, 3}));
  EXPECT_EQ(kept.geometry.tokens, (std::vector<TokenId>{12, 13, 17, 18, 19, 21}));
  EXPECT_EQ(kept.geometry.positions, (std::vector<int32_t>{2, 3, 7, 8, 3, 5}));
  EXPECT_EQ(kept.geometry.query_starts, (std::vector<int32_t>{0, 2, 4, 5, 6}));
  EXPECT_EQ(kept.geometry.table_starts, (std::vector<int32_t>{0, 3, 6, 8, 10}));
  EXPECT_EQ(kept.geometry.block_tables, (std::vector<int32_t>{0, 1, 2, 0, 1, 2, 7, 5, 7, 5}));
}

TEST(KeptRows, MayBeNone) {
  const KeptRows kept = KeepRows(TwoSequences(), {});
  EXPECT_TRUE(kept.rows.empty());
  EXPECT_EQ(kept.geometry.sequences(), 0);
}

class KeptRowsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(KeptRowsOf, HaveTheBitsOfAllRows) {
  const std::string path = testing::ModelPath(GetParam() + std::string(".gguf"));
  const auto source = ModelSource::Open(path);
  ASSERT_TRUE(source) << source.error().message;
  const auto config = ReadModelConfig(**source, 0);
  ASSERT_TRUE(config) << config.error().message;
  ThreadPool pool(2);
  compute::Cpu::Context context(pool, *compute::cpu::SelectCpuIsa());
  auto runner = ModelRunner<compute::Cpu, compute::KvFp16>::Load(context, *config, *source, 8, kBlockSize);
  ASSERT_TRUE(runner) << runner.error().message;

  // The tokens before the second sequence's rows, without requested rows.
  compute::StepGeometry before;
  before.block_size = kBlockSize;
  before.tokens = {5, 6, 7};
  before.positions = {0, 1, 2};
  before.query_starts = {0, 3};
  before.block_tables = {7};
  before.table_starts = {0, 1};
  EXPECT_EQ(runner->Step(before, {}).rows(), 0);

  const auto all =
      runner->Read(runner->Step(TwoSequences(), std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const std::vector<int32_t> outputs{11, 2, 3, 7, 3, 9, 8};
  const auto some = runner->Read(runner->Step(TwoSequences(), outputs));
  ASSERT_EQ(some.size(), outputs.size() * static_cast<size_t>(config->hidden));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto row = [&](const std::vector<float>& of, size_t at) {
      return std::vector<float>(of.begin() + at * config->hidden, of.begin() + (at + 1) * config->hidden);
    };
    EXPECT_EQ(row(some, i), row(all, static_cast<size_t>(outputs[i]))) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, KeptRowsOf,
                         ::testing::Values("llama3", "gemma2", "gemma3", "qwen3_moe", "gpt_oss", "gpt2"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace inferflux::model
