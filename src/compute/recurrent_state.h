// The state that recurrent layers carry from token to token, beside the KV of attention. It has a fixed size, so it
// cannot be cut like KV: a sequence's earlier states exist only where they were stored.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "compute/backend.h"

namespace inferflux::compute {

// `slots` states, each of several parts.
struct StateShape {
  std::vector<int64_t> layers;  // values of each part; 0: none
  int32_t slots = 0;
};

// Bytes of one state, as float32; a negative number if that overflows.
inline int64_t StateBytes(std::span<const int64_t> layers) {
  int64_t values = 0;
  for (const int64_t layer : layers) {
    if (layer < 0 || layer > (int64_t{1} << 40) || values > (int64_t{1} << 50)) return -1;
    values += layer;
  }
  return values * static_cast<int64_t>(sizeof(float));
}

// A backend that keeps recurrent states. A step reads and stores them as its batch says (StepGeometry::states).
template <class B>
concept RecurrentStates = Backend<B> &&
    requires(typename B::Context& context, typename B::States& states, const StateShape& shape, typename B::View view,
             const typename B::Batch& batch, const DeltaNetParams& delta, int32_t index,
             FunctionRef<void(std::span<std::byte>)> visit) {
  // kResourceExhausted if there is no memory for them.
  { B::CreateStates(context, shape) } -> std::same_as<Result<typename B::States>>;
  // A causal convolution over time, each column by itself: y[r] = sum of taps[t] * x[r - (n - 1) + t] for t in [0, n).
  // x: [rows, width]; taps: [1, n * width], the oldest row's first. Rows before a sequence's first one come from its
  // state, whose part `index` is the last n - 1 rows of x, the oldest first. Returns [rows, width].
  { B::ShortConv(context, view, view, states, index, batch) } -> std::same_as<typename B::Buffer>;
  // The gated delta rule (arXiv:2412.06464), for each value head with a state S of [key_dim, value_dim], in float32:
  //   S = exp(coefficients * softplus(a + steps)) * S;  S += k (sigmoid(b) * (v - k S));  y = q S / sqrt(key_dim)
  // with q and k of length 1. qkv: [rows, keys, keys, values]; b and a: [rows, value_heads]; steps and coefficients:
  // [1, value_heads]. Returns [rows, values].
  {
    B::GatedDelta(context, view, view, view, view, view, states, index, batch, delta)
    } -> std::same_as<typename B::Buffer>;
  { B::Multiply(context, view, view) } -> std::same_as<typename B::Buffer>;  // of the same shape
  // Visits the parts of a slot, in order. The visitor may write to them.
  { B::VisitState(states, index, visit) } -> std::same_as<void>;
};

// A backend that computes Mamba-2 (arXiv:2405.21060).
template <class B>
concept SelectiveScans = RecurrentStates<B> &&
    requires(typename B::Context& context, typename B::States& states, typename B::View view,
             const typename B::Batch& batch, const StateSpaceParams& space, int32_t index) {
  // For each head with a state S of [state, head_dim], in float32, token by token:
  //   d = softplus(dt + steps);  S = exp(coefficients * d) * S + b (d * x);  y = c S + skips * x
  // xbc: [rows, inner, groups * state, groups * state], a head's x and a group's b and c; dt: [rows, heads]; steps,
  // coefficients and skips: [1, heads]. Returns [rows, inner].
  {
    B::SelectiveScan(context, view, view, view, view, view, states, index, batch, space)
    } -> std::same_as<typename B::Buffer>;
};

}  // namespace inferflux::compute
