// What a device must provide to run the forward pass.
//
// A backend is a type with static operations. An operation takes read-only views and returns a new, owning buffer; no
// operation writes through a view. Only the KV cache changes in place, through Append and CopyBlock. Read copies values
// to the host explicitly; it is the only point where a lazy backend evaluates.
//
// Everything that only some devices can do is a refining concept: its absence is a compile-time fact, never a stub that
// throws. compute/optional_ops.h and compute/device_features.h have more of them, compute/bundles.h names the common
// sets, and compute/capabilities.h derives the run-time report from the concepts.
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

// A read-only view of a buffer: [rows, cols], with all its columns or a range of them.
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

  // The device's memory: KV is planned from its free bytes; weight_bytes is what the calls below have loaded.
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
  { B::Add(context, view, view) } -> std::same_as<typename B::Buffer>;      // of the same shape
  { B::AddBias(context, view, view) } -> std::same_as<typename B::Buffer>;  // [rows, n] + [1, n]
  // Each run of columns as long as the weight is normalised separately, so [rows, heads * head_dim] with a weight of
  // [1, head_dim] normalises head by head. y = x / sqrt(mean(x^2) + eps) * weight (arXiv:1910.07467).
  { B::RmsNorm(context, view, view, number) } -> std::same_as<typename B::Buffer>;
  { B::MatMul(context, view, matrix) } -> std::same_as<typename B::Buffer>;          // [rows, outputs]
  { B::Gate(context, view, view, activation) } -> std::same_as<typename B::Buffer>;  // act(gate) * up
  // cos and sin for every row of the step, computed once per step: [rows, 2 * pairs], cosines first.
  { B::RopeAngles(context, batch, rope_spec) } -> std::same_as<typename B::Buffer>;
  { B::Rope(context, view, view, rope) } -> std::same_as<typename B::Buffer>;  // x [rows, heads * head_dim], angles

  { B::Read(context, view) } -> std::same_as<std::vector<float>>;  // row-major
  requires std::convertible_to<const typename B::Buffer&, typename B::View>;
};

// A backend that keeps KV of element type E in paged blocks. Attention reads what Append stored, including the step's
// own tokens, so a token's result does not depend on how its prompt was cut into steps.
template <class B, class E>
concept PagedKv = Backend<B> &&
    requires(typename B::Context& context, typename B::template KvCache<E>& cache,
             const typename B::template KvCache<E>& filled, typename B::View view, const typename B::Batch& batch,
             const KvShape& shape, const AttentionParams& attention, int32_t index) {
  { B::template CreateKvCache<E>(context, shape) } -> std::same_as<Result<typename B::template KvCache<E>>>;
  // k and v: [rows, kv_heads * head_dim], stored at each row's position in its sequence's blocks.
  { B::template Append<E>(context, cache, index, view, view, batch) } -> std::same_as<void>;
  // q: [rows, heads * head_dim]; each row attends to the positions up to its own, or to its whole sequence if the
  // attention is not causal. Returns [rows, heads * head_dim].
  { B::template Attend<E>(context, view, filled, index, batch, attention) } -> std::same_as<typename B::Buffer>;
  { B::template CopyBlock<E>(context, cache, index, index) } -> std::same_as<void>;  // (from, to), every layer
};

// A backend whose MatMul takes weights of this type without loss.
template <class B, formats::TensorType kType>
concept QuantWeights = Backend<B> && B::SupportsWeights(kType);

// A backend that lists its own devices. A backend without this is a variant of another for a special program, which
// creates the context itself (inferflux-bench's profiler is one).
template <class B>
concept OpensDevices = Backend<B> && requires(const ContextOptions& options) {
  { B::Devices(options) } -> std::same_as<std::vector<Device>>;  // of this machine; empty if it cannot run here
  // kInvalidArgument if options.device names none of them.
  { B::CreateContext(options) } -> std::same_as<Result<std::unique_ptr<typename B::Context>>>;
};

// A backend that guarantees: a row's result does not depend, bit for bit, on the other rows of the step, on how steps
// were cut, or on the number of threads.
template <class B>
concept BatchInvariant = Backend<B> && B::kBatchInvariant;

// Tokens per step at which B reaches its best throughput.
template <Backend B>
constexpr int32_t StepTokens() {
  if constexpr (requires { B::kStepTokens; }) {
    return B::kStepTokens;
  } else {
    return 512;
  }
}

}  // namespace inferflux::compute
