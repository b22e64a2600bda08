#include INFERFLUX_LANES
#include "compute/cpu/kernels/simd/vector_ops_inl.h"
// Last, because it needs both.
#include "compute/cpu/kernels/attention/attention_inl.h"
#include "compute/cpu/kernels/attention/latents_inl.h"
#include "compute/cpu/kernels/kernel_groups.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

template <int kPart>
void AddAttention(Kernels& kernels) {
  if constexpr (kPart == 0) {
    kernels.span_fp32 = AttendSpan<float>;
    kernels.unpack_fp32 = UnpackLatents<float>;
    kernels.index_scores = IndexScores;
    kernels.merge = MergeSums;
  } else if constexpr (kPart == 1) {
    kernels.span_fp16 = AttendSpan<Fp16>;
    kernels.unpack_fp16 = UnpackLatents<Fp16>;
  } else if constexpr (kPart == 2) {
    kernels.span_bf16 = AttendSpan<Bf16>;
    kernels.unpack_bf16 = UnpackLatents<Bf16>;
  } else if constexpr (kPart == 3) {
    kernels.span_int8 = AttendSpan<int8_t>;
    kernels.unpack_int8 = UnpackLatents<int8_t>;
  } else {
    kernels.span_fp8 = AttendSpan<Fp8>;
    kernels.unpack_fp8 = UnpackLatents<Fp8>;
  }
}

template void AddAttention<INFERFLUX_PART>(Kernels& kernels);

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
