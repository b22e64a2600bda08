// Every encoder's hidden states against transformers', from GGUF and from the directory that transformers saved:
// several texts in one step (tools/golden_encoders.py).
#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/reference/reference_backend.h"
#include "model/families/expect_hidden.h"

namespace inferflux::model {

extern template class ModelRunner<compute::Reference, compute::KvFp32>;

namespace {

constexpr double kBound = 1e-4;

class GoldenEncoder : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenEncoder, ReferenceEqualsTransformers) {
  compute::Reference::Context context;
  testing::ExpectHidden<compute::Reference>(context, GetParam() + ".gguf", GetParam(), kBound);
}

TEST_P(GoldenEncoder, CpuEqualsTransformers) {
  ThreadPool pool(2);
  const auto isa = compute::cpu::SelectCpuIsa();
  ASSERT_TRUE(isa) << isa.error().message;
  compute::Cpu::Context context(pool, *isa);
  testing::ExpectHidden<compute::Cpu>(context, GetParam() + ".gguf", GetParam(), kBound);
}

TEST_P(GoldenEncoder, DirectoryEqualsTransformers) {
  compute::Reference::Context context;
  testing::ExpectHidden<compute::Reference>(context, GetParam() + "-hf", GetParam(), kBound);
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenEncoder, ::testing::ValuesIn(testing::GoldenModels("hidden", ".gguf")),
                         [](const auto& info) { return info.param; });

// The file's model with one tensor changed; it is left out if `change` returns false.
Result<ModelConfig> ReadChanged(const std::string& tensor, bool (*change)(ModelSource::Tensor&)) {
  const auto source = ModelSource::Open(testing::ModelPath("bert_scores.gguf"));
  EXPECT_TRUE(source) << source.error().message;
  std::vector<ModelSource::Tensor> tensors;
  for (const ModelSource::Tensor* kept : (*source)->Tensors()) {
    ModelSource::Tensor copy = *kept;
    if (copy.matrix.name != tensor || change(copy)) tensors.push_back(std::move(copy));
  }
  return ReadModelConfig(ModelSource("changed.gguf", "gguf", (*source)->metadata(), std::move(tensors), *source));
}

TEST(Classifier, WithoutItsHeadOrWithAnotherModelsIsRefused) {
  const auto lost = ReadChanged("cls.output.weight", [](ModelSource::Tensor&) { return false; });
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kNotFound);
  EXPECT_NE(lost.error().message.find("'cls.output.weight' is missing"), std::string::npos) << lost.error().message;
  const auto other =
      ReadChanged("cls.output.weight", [](ModelSource::Tensor& tensor) { return ++tensor.matrix.cols > 0; });
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("[1, 19]"), std::string::npos) << other.error().message;
  const auto unnamed =
      ReadChanged("cls.output.weight", [](ModelSource::Tensor& tensor) { return ++tensor.matrix.rows > 0; });
  ASSERT_FALSE(unnamed);
  EXPECT_NE(unnamed.error().message.find("1 names for 2 scores"), std::string::npos) << unnamed.error().message;
}

TEST(GoldenModels, AreAllThere) { EXPECT_GE(testing::GoldenModels("hidden", ".gguf").size(), 13u); }

}  // namespace
}  // namespace inferflux::model
