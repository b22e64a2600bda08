// The table of the instruction set whose lanes header was included before this.
#pragma once

#include "compute/cpu/isa/attention_inl.h"
#include "compute/cpu/isa/float_product_inl.h"
#include "compute/cpu/isa/int8_product_inl.h"
#include "compute/cpu/isa/meter_inl.h"
#include "compute/cpu/isa/quantize_inl.h"
#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu {
namespace {

constexpr Kernels MakeKernels(CpuIsa isa) {
  Kernels out;
  out.isa = isa;
  const auto product = [&](PanelFormat format) -> ProductKernel& { return out.product[static_cast<int>(format)]; };
  product(PanelFormat::kF32) = FloatProduct<float>;
  product(PanelFormat::kF16) = FloatProduct<Fp16>;
  product(PanelFormat::kBf16) = FloatProduct<Bf16>;
  product(PanelFormat::kQ8_0) = Int8Product<FormatQ8_0>;
  product(PanelFormat::kQ4_0) = Int8Product<FormatQ4_0>;
  product(PanelFormat::kQ4K) = Int8Product<FormatQ4K>;
  product(PanelFormat::kQ5K) = Int8Product<FormatQ5K>;
  product(PanelFormat::kQ6K) = Int8Product<FormatQ6K>;
  out.signed_offset = kSignedOffset;
  out.quantize_blocks = QuantizeBlocks;
  out.quantize_chunk = QuantizeChunk;
  out.span_fp32 = AttendSpan<float>;
  out.span_fp16 = AttendSpan<Fp16>;
  out.span_bf16 = AttendSpan<Bf16>;
  out.span_int8 = AttendSpan<int8_t>;
  out.span_fp8 = AttendSpan<Fp8>;
  out.merge = MergeSums;
  out.int8_rounds = Int8Rounds;
  out.float_rounds = FloatRounds;
  out.read_bytes = ReadBytes;
  out.add = AddRow;
  out.scale = ScaleRow;
  out.rms_norm = RmsNormRow;
  out.layer_norm = LayerNormRow;
  out.soft_cap = SoftCapRow;
  const auto index = [](Activation activation) { return static_cast<int>(activation); };
  out.gate[index(Activation::kSilu)] = GateRow<Silu>;
  out.gate[index(Activation::kGeluTanh)] = GateRow<GeluTanh>;
  out.gate[index(Activation::kGeluErf)] = GateGeluErf;
  out.gate[index(Activation::kClampedSwiglu)] = GateClampedSwiglu;
  out.activate[index(Activation::kSilu)] = ActivateRow<Silu>;
  out.activate[index(Activation::kGeluTanh)] = ActivateRow<GeluTanh>;
  out.activate[index(Activation::kGeluErf)] = ActivateGeluErf;
  out.rope[static_cast<int>(RopeStyle::kInterleaved)] = RopeInterleaved;
  out.rope[static_cast<int>(RopeStyle::kHalves)] = RopeHalves;
  return out;
}

}  // namespace
}  // namespace inferflux::compute::cpu
