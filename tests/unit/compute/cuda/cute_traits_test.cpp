// The executor's fragment layouts against CuTe's traits of the same instructions (CUTLASS, cute/atom/mma_traits_*.hpp),
// so that the emulation does not share its author's error. Built where INFERFLUX_CUTLASS names CUTLASS's headers.
#include <gtest/gtest.h>

#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/atom/mma_traits_sm89.hpp>

#include "compute/cuda/host_executor/fragments.h"

namespace inferflux::cuda::executor {
namespace {

// CuTe maps (thread, element) to row + rows * column; its B is n x k.
template <class Operation>
void ExpectSameLayouts(int packed) {
  using Traits = cute::MMA_Traits<Operation>;
  const int a_elements = 4 * packed;
  ASSERT_EQ(int(cute::size(typename Traits::ALayout{})), 32 * a_elements);
  ASSERT_EQ(int(cute::size(typename Traits::BLayout{})), 32 * a_elements / 2);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < a_elements; ++i) {
      const Place at = PlaceInA(lane, i, packed);
      EXPECT_EQ(int(typename Traits::ALayout{}(lane, i)), at.row + 16 * at.column) << lane << ", " << i;
    }
    for (int i = 0; i < a_elements / 2; ++i) {
      const Place at = PlaceInB(lane, i, packed);
      EXPECT_EQ(int(typename Traits::BLayout{}(lane, i)), at.column + 8 * at.row) << lane << ", " << i;
    }
    for (int i = 0; i < 4; ++i) {
      const Place at = PlaceInC(lane, i);
      EXPECT_EQ(int(typename Traits::CLayout{}(lane, i)), at.row + 16 * at.column) << lane << ", " << i;
    }
  }
}

TEST(CuteTraits, AgreeOnFragments) {
  ExpectSameLayouts<cute::SM80_16x8x16_F32F16F16F32_TN>(2);
  ExpectSameLayouts<cute::SM80_16x8x16_F32BF16BF16F32_TN>(2);
  ExpectSameLayouts<cute::SM80_16x8x32_S32S8S8S32_TN>(4);
  ExpectSameLayouts<cute::SM89_16x8x32_F32E4M3E4M3F32_TN>(4);
}

}  // namespace
}  // namespace inferflux::cuda::executor
