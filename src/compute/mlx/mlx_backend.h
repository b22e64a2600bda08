// MLX's arrays as a compute backend: Metal on a Mac, the CPU elsewhere (https://github.com/ml-explore/mlx, its C++
// API).
//
// Arrays are lazy and immutable. An operation adds a node to a graph; only Read evaluates it. The KV arrays are
// replaced by updated ones, which MLX writes in place because nothing else holds the old ones
// (docs/decisions/0008-mlx-keeps-paged-kv.md).
//
// Everything runs on the calling thread's default stream, so one engine's calls must come from one thread. MLX reports
// errors by exceptions (out of memory, a device that failed). Loading functions that return a Result catch them;
// operations do not: the native engine turns those into errors.
#pragma once

#include <mlx/array.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "compute/device.h"
#include "compute/kv_types.h"
#include "compute/params.h"
#include "compute/recurrent_state.h"

namespace inferflux::compute {

// KV types that MLX has arrays for.
template <class E>
concept MlxKvType = std::same_as<E, KvFp32> || std::same_as<E, KvFp16> || std::same_as<E, KvBf16>;

struct Mlx {
  static constexpr const char* kName = "mlx";
  static constexpr formats::WeightLayouts kWeightLayouts{.affine = true};

  // [rows, cols] of float32. MLX's arrays are shared handles: a view keeps its array alive.
  struct View {
    mlx::core::array values;
    int64_t rows() const { return values.shape(0); }
    int64_t cols() const { return values.shape(1); }
  };
  struct Buffer {
    mlx::core::array values;
    operator View() const { return {values}; }  // NOLINT: a buffer is a view of itself
  };

  // [kv_heads, slots, head_dim] each; slot = block * block_size + offset. Empty if the layer keeps no KV. With latents
  // [1, slots, head_dim], and [1, slots, index] beside it, which is empty if no tokens are selected.
  struct KvLayer {
    mlx::core::array keys;
    mlx::core::array values;
  };
  template <class E>
  struct KvCache {
    KvShape shape;
    std::shared_ptr<std::vector<KvLayer>> layers;
  };

  // Weights that are stored in another type than the file's, by the file's type.
  struct Converted {
    std::string layout;
    int64_t file_bytes = 0;
    int64_t bytes = 0;
  };

  // One sequence's part of a step.
  struct Sequence {
    int32_t first_row = 0;
    int32_t rows = 0;
    int32_t first_position = 0;
    // The slots of its KV: contiguous from this one on, or those of these blocks.
    int32_t first_slot = 0;
    std::optional<mlx::core::array> slots;  // [length]
    int32_t length() const { return first_position + rows; }
  };
  struct Batch {
    StepGeometry geometry;
    mlx::core::array tokens;     // [rows]
    mlx::core::array new_slots;  // [rows]: slots for the step's keys and values
    std::vector<Sequence> sequences;
  };

  // Rows of one type: plain floats [outputs, inputs], or groups of inputs as scale * q + bias.
  struct Weights {
    mlx::core::array values;                 // quantised: packed words, [outputs, inputs * bits / 32]
    std::optional<mlx::core::array> scales;  // if quantised
    std::optional<mlx::core::array> biases;  // if affine
    int bits = 0;
    int group = 0;                // inputs that share a scale and a bias
    std::string mode = "affine";  // or "mxfp4"; if quantised
  };
  struct Matrix {
    int64_t rows = 0;            // outputs
    int64_t cols = 0;            // inputs
    std::vector<Weights> parts;  // stacked along the outputs
    std::string description;
  };
  using Table = Matrix;

  struct Context {
    Context();

    std::string device;  // "cpu" or "gpu"
    // Whether matmuls with 16-bit weights run in the weights' own type, which is fast on a GPU, or in float32.
    bool narrow_products = false;
    // Whether weights of a type that MLX lacks are requantised to 8 bits in groups of 32, or become BF16.
    bool requantise = false;
    int64_t weight_bytes = 0;  // of what LoadMatrix, LoadTable and LoadExperts hold
    std::map<std::string, Converted> converted;
    std::map<std::string, Matrix, std::less<>> tables;  // by name: a tied output shares the embedding's arrays
    std::vector<std::weak_ptr<std::vector<KvLayer>>> caches;
    std::vector<mlx::core::array> KvArrays();  // of the caches that are still alive
  };

  struct Experts {
    int64_t experts = 0;
    Matrix stacked;  // of [experts, outputs, inputs]
  };
  struct Routing {
    int32_t rows = 0;
    int32_t used = 0;
    mlx::core::array experts;  // [rows, used], int32
    mlx::core::array weights;  // [rows, used]
  };

  // Loaded without loss. Any other type that formats/ can decode is loaded as BF16, or in 8 bits.
  static consteval bool SupportsWeights(formats::TensorType type) {
    using enum formats::TensorType;
    return type == kF32 || type == kF16 || type == kBf16 || type == kQ4_0 || type == kQ4_1 || type == kQ5_0 ||
           type == kQ5_1 || type == kQ8_0 || type == kQ4_K || type == kQ5_K;
  }

  static std::vector<Device> Devices(const ContextOptions& options);
  static Result<std::unique_ptr<Context>> CreateContext(const ContextOptions& options);
  static MemoryInfo Memory(const Context& context);
  // A mark evaluates the KV arrays and waits for the device.
  using TimeMark = std::chrono::steady_clock::time_point;
  static TimeMark MarkTime(Context& context);
  static double SecondsBetween(TimeMark from, TimeMark to) { return std::chrono::duration<double>(to - from).count(); }

  static Buffer LoadVector(Context& context, std::span<const float> values);
  static Result<Matrix> LoadMatrix(Context& context, std::span<const HostMatrix> parts);
  static Result<Table> LoadTable(Context& context, const HostMatrix& table);
  static std::string Describe(const Matrix& matrix) { return matrix.description; }
  // The memory that loaded weights take beyond the file's size, one line per type.
  static std::vector<std::string> LoadNotes(const Context& context);

  static Batch LoadBatch(Context& context, const StepGeometry& geometry);
  static View Columns(View x, int64_t first, int64_t count);
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
  static std::vector<float> Read(Context& context, View x);

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
  static Routing Route(Context& context, View logits, const RoutingParams& params, const View* biases = nullptr);
  static Buffer ExpertMatMul(Context& context, View x, const Experts& experts, const Routing& routing);
  static Buffer AddExpertBias(Context& context, View x, View biases, const Routing& routing);
  static Buffer ScaleExpertColumns(Context& context, View x, View scales, const Routing& routing);
  static Buffer Combine(Context& context, View x, const Routing& routing);
  static Buffer GateRows(Context& context, View x, View logits);

  // compute/latent_kv.h.
  struct Selection {
    std::vector<std::optional<mlx::core::array>> sequences;  // [rows, top] positions; none: every row sees all it may
  };
  static Buffer HeadMatMul(Context& context, View x, const Experts& heads);
  template <class E>
  static void AppendLatents(Context&, KvCache<E>& cache, int32_t layer, View latents, View rotated,
                            const Batch& batch) {
    AppendLatentsTo((*cache.layers)[static_cast<size_t>(layer)], latents, rotated, batch);
  }
  template <class E>
  static Buffer AttendLatents(Context&, View q, View rotated, const KvCache<E>& cache, int32_t layer,
                              const Batch& batch, const AttentionParams& params, const Selection* selected) {
    return AttendLatentsOf(q, rotated, (*cache.layers)[static_cast<size_t>(layer)], batch, params, selected);
  }
  template <class E>
  static void AppendIndex(Context&, KvCache<E>& cache, int32_t layer, View k, const Batch& batch) {
    AppendIndexTo((*cache.layers)[static_cast<size_t>(layer)], k, batch);
  }
  template <class E>
  static Selection SelectPositions(Context&, View q, View weights, const KvCache<E>& cache, int32_t layer,
                                   const Batch& batch, const IndexParams& params) {
    return SelectOf(q, weights, (*cache.layers)[static_cast<size_t>(layer)], batch, params);
  }

  // compute/recurrent_state.h. Parts are shared handles: a checkpoint costs no copy.
  struct States {
    std::vector<std::vector<mlx::core::array>> layers;  // [layer][slot], each [1, size]; none if the layer has no state
  };
  static Result<States> CreateStates(Context& context, const StateShape& shape);
  static void VisitState(States& states, int32_t slot, FunctionRef<void(std::span<std::byte>)> visit);
  static Buffer ShortConv(Context& context, View x, View taps, States& states, int32_t layer, const Batch& batch);
  static Buffer GatedDelta(Context& context, View qkv, View b, View a, View steps, View coefficients, States& states,
                           int32_t layer, const Batch& batch, const DeltaNetParams& params);
  static Buffer SelectiveScan(Context& context, View xbc, View dt, View steps, View coefficients, View skips,
                              States& states, int32_t layer, const Batch& batch, const StateSpaceParams& params);
  static Buffer Multiply(Context& context, View a, View b);

  template <MlxKvType E>
  static Result<KvCache<E>> CreateKvCache(Context& context, const KvShape& shape);
  template <class E>
  static void Append(Context&, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch) {
    AppendTo((*cache.layers)[static_cast<size_t>(layer)], k, v, batch);
  }
  template <class E>
  static Buffer Attend(Context&, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                       const AttentionParams& params) {
    return AttendTo(q, (*cache.layers)[static_cast<size_t>(layer)], batch, params, std::nullopt);
  }
  template <class E>
  static Buffer AttendWithSinks(Context&, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                const AttentionParams& params, View sinks) {
    return AttendTo(q, (*cache.layers)[static_cast<size_t>(layer)], batch, params, sinks.values);
  }
  template <class E>
  static void CopyBlock(Context&, KvCache<E>& cache, int32_t from, int32_t to) {
    for (KvLayer& layer : *cache.layers) CopyBlockOf(layer, cache.shape.block_size, from, to);
  }
  template <class E>
  static void VisitKvBlock(KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit) {
    for (KvLayer& layer : *cache.layers) VisitBlockOf(layer, cache.shape, block, visit);
  }

 private:
  static void AppendTo(KvLayer& layer, View k, View v, const Batch& batch);
  static Buffer AttendTo(View q, const KvLayer& layer, const Batch& batch, const AttentionParams& params,
                         std::optional<mlx::core::array> sinks);
  static void AppendLatentsTo(KvLayer& layer, View latents, View rotated, const Batch& batch);
  static Buffer AttendLatentsOf(View q, View rotated, const KvLayer& layer, const Batch& batch,
                                const AttentionParams& params, const Selection* selected);
  static void AppendIndexTo(KvLayer& layer, View k, const Batch& batch);
  static Selection SelectOf(View q, View weights, const KvLayer& layer, const Batch& batch, const IndexParams& params);
  static void CopyBlockOf(KvLayer& layer, int32_t block_size, int32_t from, int32_t to);
  static void VisitBlockOf(KvLayer& layer, const KvShape& shape, int32_t block,
                           FunctionRef<void(std::span<std::byte>)> visit);
};

}  // namespace inferflux::compute
