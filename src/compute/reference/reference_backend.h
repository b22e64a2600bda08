// The oracle: plain scalar code, one file per operation, single-threaded, without optimisations. Every other backend is
// tested against it, by operation and by whole model. Weights are dequantised to float at load; sums are kept in
// double.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "compute/device.h"
#include "compute/host/arena.h"
#include "compute/host/host_buffer.h"
#include "compute/host/host_device.h"
#include "compute/host/moe_routing.h"
#include "compute/host/selection.h"
#include "compute/host/states.h"
#include "compute/kv_types.h"
#include "compute/params.h"

namespace inferflux::compute {

struct Reference {
  static constexpr const char* kName = "reference";
  static constexpr bool kBatchInvariant = true;

  struct Context {
    host::Arena arena;
    int64_t weight_bytes = 0;  // of what LoadMatrix, LoadTable and LoadExperts hold
  };
  using Buffer = host::Buffer;
  using View = host::View;
  using Batch = StepGeometry;

  struct Matrix {
    int64_t rows = 0;  // outputs
    int64_t cols = 0;  // inputs
    std::vector<float> values;
    std::string types;  // of the parts, as in the file
  };
  using Table = Matrix;
  using Experts = std::vector<Matrix>;
  using Routing = host::Routing;

  // Slots numbered block * block_size + offset; a slot holds kv_heads * head_dim elements. With latents, `keys` has the
  // rows that are keys and values, and `values` the indexer's keys.
  template <class E>
  struct KvCache {
    struct Layer {
      std::vector<typename E::Storage> keys;
      std::vector<typename E::Storage> values;
      std::vector<float> key_scales, value_scales;  // a slot has kv_heads of them
    };
    KvShape shape;
    std::vector<Layer> layers;
  };

  static consteval bool SupportsWeights(formats::TensorType) { return true; }  // all that formats/ can dequantise

  static std::vector<Device> Devices(const ContextOptions& options);
  static Result<std::unique_ptr<Context>> CreateContext(const ContextOptions& options);
  static MemoryInfo Memory(const Context& context) { return host::MemoryOf(context.weight_bytes); }
  using TimeMark = host::TimeMark;
  static TimeMark MarkTime(Context&) { return TimeMark::clock::now(); }
  static double SecondsBetween(TimeMark from, TimeMark to) { return host::Seconds(from, to); }

  static Buffer LoadVector(Context& context, std::span<const float> values);
  static Result<Matrix> LoadMatrix(Context& context, std::span<const HostMatrix> parts);
  static Result<Table> LoadTable(Context& context, const HostMatrix& table);
  static std::string Describe(const Matrix& matrix);

  static Batch LoadBatch(Context&, const StepGeometry& geometry) { return geometry; }
  static View Columns(View x, int64_t first, int64_t count) { return host::Columns(x, first, count); }
  static Buffer Embed(Context& context, const Table& table, const Batch& batch);
  static Buffer GatherRows(Context& context, View x, std::span<const int32_t> rows);
  static Buffer Scale(Context& context, View x, float factor);
  static Buffer Add(Context& context, View a, View b);
  static Buffer AddBias(Context& context, View x, View bias);
  static Buffer RmsNorm(Context& context, View x, View weight, float epsilon);
  static Buffer MatMul(Context& context, View x, const Matrix& matrix);
  static Buffer Gate(Context& context, View gate, View up, Activation activation);
  static Buffer RopeAngles(Context& context, const Batch& batch, const RopeSpec& spec);
  static Buffer Rope(Context& context, View x, View angles, const RopeParams& params);
  static std::vector<float> Read(Context&, View x);

  // Optional operations (compute/optional_ops.h).
  static Buffer LayerNorm(Context& context, View x, View weight, View bias, float epsilon);
  static Buffer Activate(Context& context, View x, Activation activation);
  static Buffer SoftCap(Context& context, View x, float cap);
  static Buffer ScaleColumns(Context& context, View x, View scales);
  static Buffer MixStreams(Context& context, View x, View factors, int32_t inputs);
  static Buffer MatchMagnitudes(Context& context, View x, View like);
  static Buffer CutRows(Context& context, View x, float deviations);
  static Result<Experts> LoadExperts(Context& context, std::span<const std::vector<HostMatrix>> parts);
  static std::string DescribeExperts(const Experts& experts);
  static Routing Route(Context&, View logits, const RoutingParams& params, const View* biases = nullptr) {
    return host::Route(logits, params, biases);
  }
  static Buffer ExpertMatMul(Context& context, View x, const Experts& experts, const Routing& routing);
  static Buffer AddExpertBias(Context& context, View x, View biases, const Routing& routing) {
    return host::AddExpertBias(context.arena, x, biases, routing);
  }
  static Buffer ScaleExpertColumns(Context& context, View x, View scales, const Routing& routing) {
    return host::ScaleExpertColumns(context.arena, x, scales, routing);
  }
  static Buffer Combine(Context& context, View x, const Routing& routing) {
    return host::Combine(context.arena, x, routing);
  }
  static Buffer GateRows(Context& context, View x, View logits) { return host::GateRows(context.arena, x, logits); }

  // compute/recurrent_state.h
  using States = host::States;
  static Result<States> CreateStates(Context&, const StateShape& shape) { return host::CreateStates(shape); }
  static void VisitState(States& states, int32_t slot, FunctionRef<void(std::span<std::byte>)> visit) {
    host::VisitState(states, slot, visit);
  }
  static Buffer ShortConv(Context& context, View x, View taps, States& states, int32_t layer, const Batch& batch);
  static Buffer GatedDelta(Context& context, View qkv, View b, View a, View steps, View coefficients, States& states,
                           int32_t layer, const Batch& batch, const DeltaNetParams& params);
  static Buffer SelectiveScan(Context& context, View xbc, View dt, View steps, View coefficients, View skips,
                              States& states, int32_t layer, const Batch& batch, const StateSpaceParams& params);
  static Buffer Multiply(Context& context, View a, View b);

  // compute/latent_kv.h
  using Selection = host::Selection;
  static Buffer HeadMatMul(Context& context, View x, const Experts& heads);
  template <class E>
  static void AppendLatents(Context& context, KvCache<E>& cache, int32_t layer, View latents, View rotated,
                            const Batch& batch);
  template <class E>
  static Buffer AttendLatents(Context& context, View q, View rotated, const KvCache<E>& cache, int32_t layer,
                              const Batch& batch, const AttentionParams& params, const Selection* selected);
  template <class E>
  static void AppendIndex(Context& context, KvCache<E>& cache, int32_t layer, View k, const Batch& batch);
  template <class E>
  static Selection SelectPositions(Context& context, View q, View weights, const KvCache<E>& cache, int32_t layer,
                                   const Batch& batch, const IndexParams& params);

  template <class E>
  static Result<KvCache<E>> CreateKvCache(Context& context, const KvShape& shape);
  template <class E>
  static void Append(Context& context, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch);
  template <class E>
  static Buffer Attend(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                       const AttentionParams& params) {
    return AttendWith<E>(context, q, cache, layer, batch, params, View{}, View{});
  }
  template <class E>
  static Buffer AttendWithSinks(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                const AttentionParams& params, View sinks) {
    return AttendWith<E>(context, q, cache, layer, batch, params, sinks, View{});
  }
  template <class E>
  static Buffer AttendWithBiases(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                 const AttentionParams& params, View biases) {
    return AttendWith<E>(context, q, cache, layer, batch, params, View{}, biases);
  }
  // A view is empty if there are no sinks or no biases.
  template <class E>
  static Buffer AttendWith(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                           const AttentionParams& params, View sinks, View biases);
  template <class E>
  static void CopyBlock(Context& context, KvCache<E>& cache, int32_t from, int32_t to);
  template <class E>
  static void VisitKvBlock(KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit);
};

}  // namespace inferflux::compute
