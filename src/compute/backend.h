// What a device must be able to do so that the one forward pass runs on it.
//
// A backend is a type with static operations. An operation takes read-only views and yields a whole, owning buffer; no
// operation writes through a view. The only thing that changes in place is the KV cache, through Append and CopyBlock.
// Reading values back is an explicit Read, the only point where a lazy backend evaluates.
//
// Everything that not every device can do is a refining concept below: its absence is a compile-time fact, never a stub
// that throws. compute/optional_ops.h and compute/device_features.h have more of them,
// compute/bundles.h names the common sets, and compute/capabilities.h derives the run-time report from the concepts.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "compute/kv_types.h"
#include "compute/params.h"

namespace inferflux::compute {

// Activations: a dense [rows, cols] matrix of floats, owned; memory on CPU and CUDA, a lazy array on MLX.
template <class B>
using Buffer = typename B::Buffer;

// A read-only window on a buffer: [rows, cols], of all its columns or of a range of them.
template <class B>
using View = typename B::View;

template <class B>
concept Backend = requires(typename B::Context& context, const typename B::Buffer& buffer, typename B::View view,
                           const typename B::Batch& batch, const typename B::Matrix& matrix,
                           const typename B::Table& table, const StepGeometry& geometry, const HostMatrix& host,
                           std::span<const HostMatrix> parts, std::span<const float> floats,
                           std::span<const int32_t> rows, const RopeSpec& rope_spec, const RopeParams& rope,
                           float number, int64_t count, Activation activation) {
  { B::kName } -> std::convertible_to<const char*>;

  // The device's memory: KV is planned from what is free there, and weight_bytes is what the calls below have loaded.
  { B::Memory(context) } -> std::same_as<MemoryInfo>;

  // --- loading ---
  { B::LoadVector(context, floats) } -> std::same_as<typename B::Buffer>;  // [1, n]
  // Parts are stacked along their outputs and share their input: fused QKV and gate/up. Parts may differ in type.
  { B::LoadMatrix(context, parts) } -> std::same_as<Result<typename B::Matrix>>;
  { B::LoadTable(context, host) } -> std::same_as<Result<typename B::Table>>;
  { B::Describe(matrix) } -> std::same_as<std::string>;  // the kernel that was chosen, for the log

  // --- a step ---
  { B::LoadBatch(context, geometry) } -> std::same_as<typename B::Batch>;
  { B::Columns(view, count, count) } -> std::same_as<typename B::View>;        // (first, count)
  { B::Embed(context, table, batch) } -> std::same_as<typename B::Buffer>;     // [rows, hidden]
  { B::GatherRows(context, view, rows) } -> std::same_as<typename B::Buffer>;  // [rows.size(), cols]
  { B::Scale(context, view, number) } -> std::same_as<typename B::Buffer>;
  { B::Add(context, view, view) } -> std::same_as<typename B::Buffer>;      // of one shape
  { B::AddBias(context, view, view) } -> std::same_as<typename B::Buffer>;  // [rows, n] + [1, n]
  // Each run of weight-many columns is normalised by itself, so [rows, heads * head_dim] with a weight of [1, head_dim]
  // normalises head by head. y = x / sqrt(mean(x^2) + eps) * weight (arXiv:1910.07467).
  { B::RmsNorm(context, view, view, number) } -> std::same_as<typename B::Buffer>;
  { B::MatMul(context, view, matrix) } -> std::same_as<typename B::Buffer>;          // [rows, outputs]
  { B::Gate(context, view, view, activation) } -> std::same_as<typename B::Buffer>;  // act(gate) * up
  // cos and sin for every row of the step, computed once a step: [rows, 2 * pairs], cosines first.
  { B::RopeAngles(context, batch, rope_spec) } -> std::same_as<typename B::Buffer>;
  { B::Rope(context, view, view, rope) } -> std::same_as<typename B::Buffer>;  // x [rows, heads * head_dim], angles

  { B::Read(context, view) } -> std::same_as<std::vector<float>>;  // row-major
  requires std::convertible_to<const typename B::Buffer&, typename B::View>;
};

// A backend that keeps KV of element type E in paged blocks. Attention reads what Append stored, also for the step's
// own tokens, so that a token's result does not depend on how its prompt was cut into steps.
template <class B, class E>
concept PagedKv = Backend<B> &&
    requires(typename B::Context& context, typename B::template KvCache<E>& cache,
             const typename B::template KvCache<E>& filled, typename B::View view, const typename B::Batch& batch,
             const KvShape& shape, const AttentionParams& attention, int32_t index) {
  { B::template CreateKvCache<E>(context, shape) } -> std::same_as<Result<typename B::template KvCache<E>>>;
  // k and v: [rows, kv_heads * head_dim], stored at each row's position in its sequence's blocks.
  { B::template Append<E>(context, cache, index, view, view, batch) } -> std::same_as<void>;
  // q: [rows, heads * head_dim]; each row attends to the positions up to its own, or to its whole sequence where the
  // attention is not causal. Yields [rows, heads * head_dim].
  { B::template Attend<E>(context, view, filled, index, batch, attention) } -> std::same_as<typename B::Buffer>;
  { B::template CopyBlock<E>(context, cache, index, index) } -> std::same_as<void>;  // (from, to), every layer
};

// A backend whose MatMul takes weights of this type without loss.
template <class B, formats::TensorType kType>
concept QuantWeights = Backend<B> && B::SupportsWeights(kType);

// A backend that finds its devices itself. One without it is a variant of another for a program of its own, which makes
// the context (inferflux-bench's profiler is one).
template <class B>
concept OpensDevices = Backend<B> && requires(const ContextOptions& options) {
  { B::Devices(options) } -> std::same_as<std::vector<Device>>;  // of this machine; none where it cannot run here
  // kInvalidArgument where options.device names none of them.
  { B::CreateContext(options) } -> std::same_as<Result<std::unique_ptr<typename B::Context>>>;
};

// A backend that promises: a row's result does not depend on the other rows of the step, on how steps were cut, or on
// the number of threads, bit for bit.
template <class B>
concept BatchInvariant = Backend<B> && B::kBatchInvariant;

// Tokens of a step that B computes at its best rate.
template <Backend B>
constexpr int32_t StepTokens() {
  if constexpr (requires { B::kStepTokens; }) {
    return B::kStepTokens;
  } else {
    return 512;
  }
}

}  // namespace inferflux::compute
