// Checkpoints with act-order (GPTQ's): weights stay integers if all parts of a matmul share a permutation, and become
// floats otherwise.
#include <gmock/gmock.h>

#include "base/thread_pool.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/reference/reference_backend.h"
#include "model/families/golden.h"
#include "model/families/load_runner.h"

namespace inferflux::model {

extern template class ModelRunner<compute::Reference, compute::KvFp32>;

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kOrdered[] = "order of their own";

template <class B>
std::vector<std::string> PlanOf(typename B::Context& context, const std::string& name) {
  const auto runner = testing::LoadRunner<B>(context, testing::DataPath("checkpoints/") + name);
  return runner ? runner->Plan() : std::vector{runner.error().message};
}

TEST(ActOrder, OfAllPartsOfAProductAreOne) {
  ThreadPool pool(1);
  compute::Cpu::Context context(pool, *compute::cpu::SelectCpuIsa());
  const auto plan = PlanOf<compute::Cpu>(context, "gptq_act_order-hf");
  for (const char* product : {"qkv: ", "attention_out: ", "gate_up: ", "down: "}) {
    EXPECT_THAT(plan, Contains(AllOf(HasSubstr(product), HasSubstr("Q4_0"), HasSubstr(kOrdered)))) << product;
  }
}

TEST(ActOrder, ThatDifferMakeAProductOneOfFloats) {
  ThreadPool pool(1);
  compute::Cpu::Context context(pool, *compute::cpu::SelectCpuIsa());
  const auto plan = PlanOf<compute::Cpu>(context, "gptq_desc_act-hf");
  EXPECT_THAT(plan, Contains(AllOf(HasSubstr("qkv: F32+F32+F32"), Not(HasSubstr(kOrdered)))));
  EXPECT_THAT(plan, Contains(AllOf(HasSubstr("attention_out: Q8_0"), HasSubstr(kOrdered))));
}

TEST(ActOrder, AreNotKeptWhereTheBackendCannotFollowThem) {
  compute::Reference::Context context;
  EXPECT_THAT(PlanOf<compute::Reference>(context, "gptq_act_order-hf"), Not(Contains(HasSubstr(kOrdered))));
}

TEST(ActOrder, CostWhatTheirIntegersDo) {
  const auto source = ModelSource::Open(testing::DataPath("checkpoints/gptq_act_order-hf"));
  ASSERT_TRUE(source) << source.error().message;
  const auto* layout = (*source)->LayoutOf("blk.0.ffn_up.weight");
  ASSERT_NE(layout, nullptr);
  EXPECT_EQ((*source)->commonest_type(), "Q4_0");
  const int64_t weights = 4 * 64 * 64 - 2 * 32 * 64 + 3 * 64 * 128;
  const int64_t orders = 4 * (6 * 64 + 128);
  EXPECT_EQ((*source)->WeightBytes() - (*source)->WeightBytes(compute::kMatmulLayoutsOf<compute::Cpu>),
            4 * weights - weights / 32 * 18 - orders);
}

}  // namespace
}  // namespace inferflux::model
