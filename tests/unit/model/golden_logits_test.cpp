// Every family's logits against transformers', position by position: a prompt in one step, then one token a step.
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/reference/reference_backend.h"
#include "model/families/family.h"
#include "model/golden.h"
#include "model/model_runner.h"

namespace inferflux::model {

extern template class ModelRunner<compute::Reference, compute::KvFp32>;

namespace {

constexpr double kBound = 1e-4;
constexpr int32_t kBlockSize = 16;

// The model at `path` on one backend, against what transformers computed from the same weights.
template <class B>
void ExpectGolden(typename B::Context& context, const std::string& path, const std::string& golden_path, double bound) {
  const auto golden = testing::ReadGolden(golden_path);
  const auto source = ModelSource::Open(path);
  ASSERT_TRUE(source) << source.error().message;
  const auto config = ReadModelConfig(**source, golden.context);
  ASSERT_TRUE(config) << config.error().message;
  auto runner = ModelRunner<B, compute::KvFp32>::Load(context, *config, *source, 8, kBlockSize);
  ASSERT_TRUE(runner) << runner.error().message;

  const auto count = static_cast<int32_t>(golden.tokens.size());
  double worst = 0.0;
  for (int32_t first = 0; first < count;) {
    const int32_t rows = first == 0 ? golden.prompt_length : 1;
    std::vector<int32_t> wanted(static_cast<size_t>(rows));
    std::iota(wanted.begin(), wanted.end(), 0);
    const auto logits = runner->Read(runner->Step(testing::OneSequence(golden.tokens, first, rows, kBlockSize), wanted));
    for (int32_t r = 0; r < rows; ++r) {
      const std::span<const float> row(logits.data() + r * golden.vocab, static_cast<size_t>(golden.vocab));
      const double error = testing::RelativeError(row, golden.row(first + r));
      worst = std::max(worst, error);
      EXPECT_LT(error, bound) << "position " << first + r;
    }
    first += rows;
  }
  ::testing::Test::RecordProperty("worst", std::to_string(worst));
}

class GoldenLogits : public ::testing::TestWithParam<const char*> {
 protected:
  std::string model() const { return testing::ModelPath(GetParam() + std::string(".gguf")); }
  std::string golden() const { return testing::ModelPath(GetParam() + std::string(".golden.gguf")); }
};

TEST_P(GoldenLogits, ReferenceEqualsTransformers) {
  compute::Reference::Context context;
  ExpectGolden<compute::Reference>(context, model(), golden(), kBound);
}

TEST_P(GoldenLogits, CpuEqualsTransformers) {
  ThreadPool pool(2);
  const auto isa = SelectCpuIsa();
  ASSERT_TRUE(isa) << isa.error().message;
  compute::Cpu::Context context(pool, *isa);
  ExpectGolden<compute::Cpu>(context, model(), golden(), kBound);
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenLogits,
                         ::testing::Values("llama", "llama3", "llama_linear", "llama_dynamic", "mistral", "mixtral",
                                           "qwen2", "qwen2_yarn", "qwen2_moe", "qwen3", "qwen3_moe", "phi3",
                                           "phi3_long", "gemma2", "gemma3", "granite", "olmo2", "olmo3", "smollm3",
                                           "starcoder2", "gpt2", "gpt_oss"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace inferflux::model
