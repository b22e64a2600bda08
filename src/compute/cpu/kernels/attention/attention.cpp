#include INFERFLUX_LANES
#include "compute/cpu/kernels/simd/vector_ops_inl.h"
// Last: it builds on both.
#include "compute/cpu/kernels/attention/attention_inl.h"
#include "compute/cpu/kernels/kernel_groups.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddAttention(Kernels& kernels) {
  kernels.span_fp32 = AttendSpan<float>;
  kernels.span_fp16 = AttendSpan<Fp16>;
  kernels.span_bf16 = AttendSpan<Bf16>;
  kernels.span_int8 = AttendSpan<int8_t>;
  kernels.span_fp8 = AttendSpan<Fp8>;
  kernels.merge = MergeSums;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
