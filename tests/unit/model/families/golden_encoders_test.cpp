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

TEST(GoldenModels, AreAllThere) { EXPECT_GE(testing::GoldenModels("hidden", ".gguf").size(), 3u); }

}  // namespace
}  // namespace inferflux::model
