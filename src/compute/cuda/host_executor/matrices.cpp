// ldmatrix and mma.sync: the last lane assembles the matrices from all fragments, computes, and writes each lane's
// results.
#include <cstring>

#include "base/half.h"
#include "compute/cuda/host_executor/fragments.h"
#include "compute/cuda/host_executor/meet.h"

namespace inferflux::cuda::executor {
namespace {

struct LoadOperand {
  uint32_t* to;
  int matrices;
  bool transpose;
  const std::byte* row;
  Site site;
};

// Register `matrix` of lane l holds elements 2 * (l % 4) and the next of row l / 4.
void CombineLoads(Run&, Warp&, const Meeting& meeting) {
  const auto operand = [&](int lane) {
    return static_cast<const LoadOperand*>(meeting.operands[static_cast<size_t>(lane)]);
  };
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const LoadOperand& mine = *operand(lane);
    for (int matrix = 0; matrix < mine.matrices; ++matrix) {
      uint16_t pair[2];
      for (int i = 0; i < 2; ++i) {
        const int row = mine.transpose ? lane % 4 * 2 + i : lane / 4;
        const int column = mine.transpose ? lane / 4 : lane % 4 * 2 + i;
        std::memcpy(&pair[i], operand(matrix * 8 + row)->row + column * 2, sizeof(uint16_t));
      }
      std::memcpy(&mine.to[matrix], pair, sizeof(pair));
    }
  }
}

template <class Sum>
struct MmaOperand {
  Sum* d;
  const uint32_t* a;
  const uint32_t* b;
};

// T: the elements' type. Wide: what the sums are kept in before they are rounded once, which is at least as exact as
// the device; its own order of additions is not specified.
template <class T, class Wide, class Sum>
void CombineProducts(Run&, Warp&, const Meeting& meeting) {
  constexpr int kPacked = 4 / sizeof(T);
  constexpr int kDepth = 8 * kPacked;
  Wide a[16][kDepth], b[kDepth][8];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const auto& mine = *static_cast<const MmaOperand<Sum>*>(meeting.operands[static_cast<size_t>(lane)]);
    T elements[4 * kPacked];
    std::memcpy(static_cast<void*>(elements), mine.a, sizeof(elements));
    for (int i = 0; i < 4 * kPacked; ++i) {
      const Place at = PlaceInA(lane, i, kPacked);
      a[at.row][at.column] = static_cast<Wide>(ToFloat(elements[i]));
    }
    std::memcpy(static_cast<void*>(elements), mine.b, sizeof(elements) / 2);
    for (int i = 0; i < 2 * kPacked; ++i) {
      const Place at = PlaceInB(lane, i, kPacked);
      b[at.row][at.column] = static_cast<Wide>(ToFloat(elements[i]));
    }
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const auto& mine = *static_cast<const MmaOperand<Sum>*>(meeting.operands[static_cast<size_t>(lane)]);
    for (int i = 0; i < 4; ++i) {
      const Place at = PlaceInC(lane, i);
      auto sum = static_cast<Wide>(mine.d[i]);
      for (int k = 0; k < kDepth; ++k) sum += a[at.row][k] * b[k][at.column];
      mine.d[i] = static_cast<Sum>(sum);  // from int64_t: wraps around
    }
  }
}

}  // namespace

void LoadMatrix(uint32_t* to, int matrices, bool transpose, const void* row, Site site) {
  const OutOfKernel executor;
  Run& run = *running.run;
  if (run.thread().lane < matrices * 8) run.Check(row, 16, Access::kRead, site);
  LoadOperand mine{to, matrices, transpose, static_cast<const std::byte*>(row), site};
  MeetAligned(WarpOperation::kLoadMatrix, site, &mine, CombineLoads);
}

void MatMulAdd(MmaType type, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Site site) {
  const OutOfKernel executor;
  MmaOperand<float> mine{d, a, b};
  constexpr Combine kCombine[] = {CombineProducts<Fp16, double, float>, CombineProducts<Bf16, double, float>,
                                  CombineProducts<Fp8, double, float>};
  MeetAligned(WarpOperation::kMatMulAdd, site, &mine, kCombine[static_cast<int>(type)]);
}

void MatMulAdd(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Site site) {
  const OutOfKernel executor;
  MmaOperand<int32_t> mine{d, a, b};
  MeetAligned(WarpOperation::kMatMulAdd, site, &mine, CombineProducts<int8_t, int64_t, int32_t>);
}

}  // namespace inferflux::cuda::executor
