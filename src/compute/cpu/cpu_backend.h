// The CPU as a compute backend: packed weights, int8 activations for block-quantised weights, a paged KV store, vector
// kernels chosen at run time, one shared thread pool. Within one instruction set a row's result depends, bit for bit,
// only on that row and its sequence: not on other rows, on how steps were cut, or on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_features.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kv_cache/kv_cache.h"
#include "compute/cpu/packing/packed_matrix.h"
#include "compute/device.h"
#include "compute/host/arena.h"
#include "compute/host/host_buffer.h"
#include "compute/host/host_device.h"
#include "compute/host/moe_routing.h"
#include "compute/host/rank_ops.h"
#include "compute/host/selection.h"
#include "compute/host/states.h"
#include "compute/kv_types.h"
#include "compute/params.h"

namespace inferflux::compute {

struct Cpu {
  static constexpr const char* kName = "cpu";
  static constexpr bool kBatchInvariant = true;
  // As fast as longer steps, and sequences that decode during a prefill wait half as long (docs/benchmarks.md).
  static constexpr int32_t kStepTokens = 112;

  // Belongs to one thread. The pool is borrowed, and other contexts may share it.
  struct Context {
    Context(ThreadPool& lent_pool, CpuIsa isa) : Context(lent_pool, cpu::KernelsFor(isa)) {}
    Context(ThreadPool& lent_pool, const cpu::Kernels& chosen) : pool(lent_pool), kernels(chosen) {}

    host::Arena arena;
    ThreadPool& pool;
    const cpu::Kernels& kernels;
    // Whether LoadMatrix packs. Otherwise matrices stay in their file, and matmuls pack panels when they need them:
    // slower, with bit-identical results.
    bool repack = true;
    int64_t weight_bytes = 0;                 // of what LoadMatrix, LoadTable and LoadExperts hold
    collective::Collective* ranks = nullptr;  // RankCollectives
  };
  using Buffer = host::Buffer;
  using View = host::View;
  using Batch = StepGeometry;
  using Matrix = cpu::PackedMatrix;
  using Experts = std::vector<cpu::PackedMatrix>;
  using Routing = host::Routing;
  template <class E>
  using KvCache = cpu::KvCache<typename E::Storage>;

  // Rows are decoded as they are looked up.
  struct Table {
    HostMatrix rows;
  };

  static constexpr formats::WeightLayouts kWeightLayouts{.fp8 = true};
  static consteval bool SupportsWeights(formats::TensorType type) { return cpu::HasPanels(type); }

  static std::vector<Device> Devices(const ContextOptions& options);
  // Also an error: an INFERFLUX_CPU_ISA that this machine cannot run.
  static Result<std::unique_ptr<Context>> CreateContext(const ContextOptions& options);
  static std::string BuildNote();  // the instruction sets that the build lacks, for users; empty: none
  static MemoryInfo Memory(const Context& context) { return host::MemoryOf(context.weight_bytes); }
  using TimeMark = host::TimeMark;
  static TimeMark MarkTime(Context&) { return TimeMark::clock::now(); }
  static double SecondsBetween(TimeMark from, TimeMark to) { return host::Seconds(from, to); }

  static Buffer LoadVector(Context& context, std::span<const float> values);
  static Result<Matrix> LoadMatrix(Context& context, std::span<const HostMatrix> parts);
  static Result<Table> LoadTable(Context& context, const HostMatrix& table);
  static std::string Describe(const Matrix& matrix) { return matrix.description; }

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

  template <class E>
  static Result<KvCache<E>> CreateKvCache(Context& context, const KvShape& shape);
  template <class E>
  static void Append(Context& context, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch);
  template <class E>
  static Buffer Attend(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                       const AttentionParams& params) {
    return AttendWithSinks<E>(context, q, cache, layer, batch, params, View{});
  }
  template <class E>
  static void CopyBlock(Context& context, KvCache<E>& cache, int32_t from, int32_t to);
  template <class E>
  static void VisitKvBlock(KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit);

  // Optional operations (compute/optional_ops.h).
  static Buffer LayerNorm(Context& context, View x, View weight, View bias, float epsilon);
  static Buffer Activate(Context& context, View x, Activation activation);
  static Buffer SoftCap(Context& context, View x, float cap);
  static Buffer ScaleColumns(Context& context, View x, View scales);
  static Buffer MixStreams(Context& context, View x, View factors, int32_t inputs);
  static Buffer MatchMagnitudes(Context& context, View x, View like);
  static Buffer CutRows(Context& context, View x, float deviations);
  static Buffer GatherColumns(Context& context, View x, std::span<const int32_t> columns);
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

  // compute/rank_collectives.h
  static Buffer SumOverRanks(Context& context, Buffer x) { return host::SumOverRanks(*context.ranks, std::move(x)); }
  static Buffer GatherOverRanks(Context& context, View x, std::span<const int64_t> columns) {
    return host::GatherOverRanks(context.arena, *context.ranks, x, columns);
  }
  static void SendRows(Context& context, View x, int32_t to) { host::SendRows(*context.ranks, x, to); }
  static Buffer ReceiveRows(Context& context, int64_t rows, int64_t columns, int32_t from) {
    return host::ReceiveRows(context.arena, *context.ranks, rows, columns, from);
  }

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

  // `sinks` may be empty.
  template <class E>
  static Buffer AttendWithSinks(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                const AttentionParams& params, View sinks);
  // Only in float32, which is what encoders keep their keys and values in.
  template <class E>
  requires std::same_as<E, KvFp32>
  static Buffer AttendWithBiases(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                 const AttentionParams& params, View biases) {
    return AttendBiased(context, q, cache, layer, batch, params, biases);
  }

 private:
  static Buffer AttendBiased(Context& context, View q, const cpu::KvCache<float>& cache, int32_t layer,
                             const Batch& batch, const AttentionParams& params, View biases);
};

}  // namespace inferflux::compute
