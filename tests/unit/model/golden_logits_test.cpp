// Every family's logits against transformers', position by position: a prompt in one step, then one token a step.
#include "model/golden.h"

#include "compute/reference/reference_backend.h"
#include "model/families/family.h"
#include "model/model_runner.h"

namespace inferflux::model {

extern template class ModelRunner<compute::Reference, compute::KvFp32>;

namespace {

constexpr double kBound = 1e-4;
constexpr int32_t kBlockSize = 16;

class GoldenLogits : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenLogits, ReferenceEqualsTransformers) {
  const auto golden = testing::ReadGolden(testing::ModelPath(GetParam() + std::string(".golden.gguf")));
  const auto source = ModelSource::Open(testing::ModelPath(GetParam() + std::string(".gguf")));
  ASSERT_TRUE(source) << source.error().message;
  const auto config = ReadModelConfig(**source, golden.context);
  ASSERT_TRUE(config) << config.error().message;

  compute::Reference::Context context;
  auto runner = ModelRunner<compute::Reference, compute::KvFp32>::Load(context, *config, *source, 8, kBlockSize);
  ASSERT_TRUE(runner) << runner.error().message;

  const auto count = static_cast<int32_t>(golden.tokens.size());
  for (int32_t first = 0; first < count;) {
    const int32_t rows = first == 0 ? golden.prompt_length : 1;
    std::vector<int32_t> wanted(static_cast<size_t>(rows));
    std::iota(wanted.begin(), wanted.end(), 0);
    const auto logits = runner->Read(runner->Step(testing::OneSequence(golden.tokens, first, rows, kBlockSize), wanted));
    for (int32_t r = 0; r < rows; ++r) {
      const std::span<const float> row(logits.data() + r * golden.vocab, static_cast<size_t>(golden.vocab));
      EXPECT_LT(testing::RelativeError(row, golden.row(first + r)), kBound) << "position " << first + r;
    }
    first += rows;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenLogits, ::testing::Values("llama", "llama3", "llama_linear", "llama_dynamic", "mistral", "mixtral",
                                           "qwen2", "qwen2_yarn", "qwen2_moe", "qwen3", "qwen3_moe", "phi3",
                                           "phi3_long", "gemma2", "gemma3", "granite", "olmo2", "olmo3", "smollm3",
                                           "starcoder2", "gpt2", "gpt_oss"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace inferflux::model
