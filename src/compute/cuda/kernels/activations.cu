#include <cmath>

#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

using compute::Activation;

constexpr unsigned kGateThreads = 256;

__device__ inline float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

template <Activation kActivation>
__device__ inline float Gated(float gate, float up) {
  if constexpr (kActivation == Activation::kSilu) {
    return gate * Sigmoid(gate) * up;
  } else if constexpr (kActivation == Activation::kGeluTanh) {
    constexpr float kRootOfTwoOverPi = 0.7978845608028654f;
    return 0.5f * gate * (1.0f + tanhf(kRootOfTwoOverPi * (gate + 0.044715f * gate * gate * gate))) * up;
  } else if constexpr (kActivation == Activation::kGeluErf) {
    constexpr float kOneOverRootOfTwo = 0.7071067811865476f;
    return 0.5f * gate * (1.0f + erff(gate * kOneOverRootOfTwo)) * up;
  } else if constexpr (kActivation == Activation::kReluSquared) {
    return fmaxf(gate, 0.0f) * fmaxf(gate, 0.0f) * up;
  } else if constexpr (kActivation == Activation::kSigmoid) {
    return Sigmoid(gate) * up;
  } else {
    constexpr float kLimit = 7.0f;
    const float held = fminf(gate, kLimit);
    return held * Sigmoid(1.702f * held) * (fminf(fmaxf(up, -kLimit), kLimit) + 1.0f);
  }
}

// Blocks x are rows, of which there may be many, y share a row.
template <class T, Activation kActivation, int kPack>
__global__ void GateKernel(Rows<const T> gate, Rows<const T> up, T* y) {
  using Values = Pack<T, kPack>;
  const int64_t row = BlockIndex().x;
  const int64_t pack = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (pack >= gate.columns / kPack) return;
  const Values gates = reinterpret_cast<const Values*>(gate.data + row * gate.stride)[pack];
  const Values ups = reinterpret_cast<const Values*>(up.data + row * up.stride)[pack];
  Values out;
  for (int i = 0; i < kPack; ++i) out.x[i] = FromFloat<T>(Gated<kActivation>(AsFloat(gates.x[i]), AsFloat(ups.x[i])));
  reinterpret_cast<Values*>(y + row * gate.columns)[pack] = out;
}

template <class T, Activation kActivation>
Status LaunchGate(const Rows<const T>& gate, const Rows<const T>& up, T* y, Stream stream) {
  constexpr int kPack = kWidest<T>;
  const auto blocks = [&](int64_t packs) { return static_cast<unsigned>((packs + kGateThreads - 1) / kGateThreads); };
  const auto rows = static_cast<unsigned>(gate.rows);
  if (Packs<T>(kPack, gate.columns, {gate.stride, up.stride}, {gate.data, up.data, y})) {
    return Launch(GateKernel<T, kActivation, kPack>, {rows, blocks(gate.columns / kPack)}, {kGateThreads}, 0, stream,
                  gate, up, y);
  }
  return Launch(GateKernel<T, kActivation, 1>, {rows, blocks(gate.columns)}, {kGateThreads}, 0, stream, gate, up, y);
}

}  // namespace

template <class T>
Status Gate(Rows<const T> gate, Rows<const T> up, Activation activation, T* y, Stream stream) {
  switch (activation) {
    case Activation::kSilu:
      return LaunchGate<T, Activation::kSilu>(gate, up, y, stream);
    case Activation::kGeluTanh:
      return LaunchGate<T, Activation::kGeluTanh>(gate, up, y, stream);
    case Activation::kGeluErf:
      return LaunchGate<T, Activation::kGeluErf>(gate, up, y, stream);
    case Activation::kReluSquared:
      return LaunchGate<T, Activation::kReluSquared>(gate, up, y, stream);
    case Activation::kSigmoid:
      return LaunchGate<T, Activation::kSigmoid>(gate, up, y, stream);
    case Activation::kClampedSwiglu:
      return LaunchGate<T, Activation::kClampedSwiglu>(gate, up, y, stream);
  }
  return {};
}

template Status Gate(Rows<const float>, Rows<const float>, Activation, float*, Stream);
template Status Gate(Rows<const Fp16>, Rows<const Fp16>, Activation, Fp16*, Stream);
template Status Gate(Rows<const Bf16>, Rows<const Bf16>, Activation, Bf16*, Stream);

}  // namespace inferflux::cuda
