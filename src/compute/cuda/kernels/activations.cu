#include <cmath>

#include "compute/cuda/device/launch_order.h"
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
__device__ inline float Activated(float x) {
  if constexpr (kActivation == Activation::kSilu) {
    return x * Sigmoid(x);
  } else if constexpr (kActivation == Activation::kGeluTanh) {
    constexpr float kRootOfTwoOverPi = 0.7978845608028654f;
    return 0.5f * x * (1.0f + tanhf(kRootOfTwoOverPi * (x + 0.044715f * x * x * x)));
  } else if constexpr (kActivation == Activation::kGeluErf) {
    constexpr float kOneOverRootOfTwo = 0.7071067811865476f;
    return 0.5f * x * (1.0f + erff(x * kOneOverRootOfTwo));
  } else if constexpr (kActivation == Activation::kReluSquared) {
    return fmaxf(x, 0.0f) * fmaxf(x, 0.0f);
  } else if constexpr (kActivation == Activation::kSigmoid) {
    return Sigmoid(x);
  } else if constexpr (kActivation == Activation::kExpExcess) {
    const float below = fminf(x, 0.0f);
    return expm1f(below) - below;
  } else {
    return x * Sigmoid(1.702f * x);
  }
}

template <Activation kActivation>
__device__ inline float Gated(float gate, float up) {
  if constexpr (kActivation == Activation::kClampedSwiglu) {
    constexpr float kLimit = 7.0f;
    return Activated<kActivation>(fminf(gate, kLimit)) * (fminf(fmaxf(up, -kLimit), kLimit) + 1.0f);
  } else {
    return Activated<kActivation>(gate) * up;
  }
}

// Blocks x are rows, of which there may be many, y share a row. Without `up` there is no gate.
template <Activation kActivation, int kPack, class T>
__global__ void GateKernel(Rows<const float> gate, Rows<const float> up, T* y) {
  WaitForKernelsBefore();
  using Values = Pack<float, kPack>;
  const int64_t row = BlockIndex().x;
  const int64_t pack = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (pack >= gate.columns / kPack) return;
  const Values gates = reinterpret_cast<const Values*>(gate.data + row * gate.stride)[pack];
  Pack<T, kPack> out;
  if (up.data == nullptr) {
    for (int i = 0; i < kPack; ++i) out.x[i] = FromFloat<T>(Activated<kActivation>(gates.x[i]));
  } else {
    const Values ups = reinterpret_cast<const Values*>(up.data + row * up.stride)[pack];
    for (int i = 0; i < kPack; ++i) out.x[i] = FromFloat<T>(Gated<kActivation>(gates.x[i], ups.x[i]));
  }
  reinterpret_cast<Pack<T, kPack>*>(y + row * gate.columns)[pack] = out;
}

template <Activation kActivation, class T>
Status LaunchGate(const Rows<const float>& gate, const Rows<const float>& up, T* y, Stream stream) {
  constexpr int kPack = kWidest<float>;
  const auto blocks = [&](int64_t packs) { return static_cast<unsigned>((packs + kGateThreads - 1) / kGateThreads); };
  const auto rows = static_cast<unsigned>(gate.rows);
  if (Packs<float>(kPack, gate.columns, {gate.stride, up.stride}, {gate.data, up.data, y})) {
    return LaunchEarly(GateKernel<kActivation, kPack, T>, {rows, blocks(gate.columns / kPack)}, {kGateThreads}, 0,
                       stream, gate, up, y);
  }
  return LaunchEarly(GateKernel<kActivation, 1, T>, {rows, blocks(gate.columns)}, {kGateThreads}, 0, stream, gate, up,
                     y);
}

template <class T>
Status GateAs(const Rows<const float>& gate, const Rows<const float>& up, Activation activation, T* y, Stream stream) {
  switch (activation) {
    case Activation::kSilu:
      return LaunchGate<Activation::kSilu>(gate, up, y, stream);
    case Activation::kGeluTanh:
      return LaunchGate<Activation::kGeluTanh>(gate, up, y, stream);
    case Activation::kGeluErf:
      return LaunchGate<Activation::kGeluErf>(gate, up, y, stream);
    case Activation::kReluSquared:
      return LaunchGate<Activation::kReluSquared>(gate, up, y, stream);
    case Activation::kSigmoid:
      return LaunchGate<Activation::kSigmoid>(gate, up, y, stream);
    case Activation::kExpExcess:
      return LaunchGate<Activation::kExpExcess>(gate, up, y, stream);
    case Activation::kClampedSwiglu:
      return LaunchGate<Activation::kClampedSwiglu>(gate, up, y, stream);
  }
  return {};
}

}  // namespace

Status Gate(Rows<const float> gate, Rows<const float> up, Activation activation, float* y, Stream stream) {
  return GateAs(gate, up, activation, y, stream);
}
Status Gate(Rows<const float> gate, Rows<const float> up, Activation activation, Bf16* y, Stream stream) {
  return GateAs(gate, up, activation, y, stream);
}

Status Activate(Rows<const float> x, Activation activation, float* y, Stream stream) {
  return GateAs(x, {}, activation, y, stream);
}

}  // namespace inferflux::cuda
