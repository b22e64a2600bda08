#include INFERFLUX_LANES
#include "compute/cpu/kernels/simd/vector_ops_inl.h"
// Last, because they need both.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/simd/ceiling_inl.h"
#include "compute/cpu/kernels/simd/quantize_inl.h"
#include "compute/cpu/kernels/simd/scan_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddRows(Kernels& kernels) {
  kernels.quantize_blocks = QuantizeBlocks<1>;
  kernels.quantize_halves = QuantizeBlocks<2>;
  kernels.quantize_chunk = QuantizeChunk;
  kernels.round_fp16 = RoundToFp16;
  kernels.int8_rounds = Int8Rounds;
  kernels.float_rounds = FloatRounds;
  kernels.read_bytes = ReadBytes;
  kernels.add = AddRow;
  kernels.scale = ScaleRow;
  kernels.rms_norm = RmsNormRow;
  kernels.layer_norm = LayerNormRow;
  kernels.soft_cap = SoftCapRow;
  kernels.scan_token = ScanToken;
  const auto index = [](Activation activation) { return static_cast<int>(activation); };
  kernels.gate[index(Activation::kSilu)] = GateRow<Silu>;
  kernels.gate[index(Activation::kGeluTanh)] = GateRow<GeluTanh>;
  kernels.gate[index(Activation::kGeluErf)] = GateGeluErf;
  kernels.gate[index(Activation::kReluSquared)] = GateRow<ReluSquared>;
  kernels.gate[index(Activation::kSigmoid)] = GateRow<Sigmoid>;
  kernels.gate[index(Activation::kExpExcess)] = GateRow<ExpExcess>;
  kernels.gate[index(Activation::kClampedSwiglu)] = GateClampedSwiglu;
  kernels.activate[index(Activation::kSilu)] = ActivateRow<Silu>;
  kernels.activate[index(Activation::kGeluTanh)] = ActivateRow<GeluTanh>;
  kernels.activate[index(Activation::kGeluErf)] = ActivateGeluErf;
  kernels.activate[index(Activation::kReluSquared)] = ActivateRow<ReluSquared>;
  kernels.activate[index(Activation::kSigmoid)] = ActivateRow<Sigmoid>;
  kernels.activate[index(Activation::kExpExcess)] = ActivateRow<ExpExcess>;
  kernels.rope[static_cast<int>(RopeStyle::kInterleaved)] = RopeInterleaved;
  kernels.rope[static_cast<int>(RopeStyle::kHalves)] = RopeHalves;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
