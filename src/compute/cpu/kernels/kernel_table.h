// The table of one instruction set's kernels: all code that uses vectors. Chosen once, at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_features.h"
#include "compute/cpu/kernels/matmul/activation_chunks.h"
#include "compute/cpu/weight_formats/weight_formats.h"
#include "compute/kv_types.h"
#include "compute/params.h"

namespace inferflux::compute::cpu {

template <class T>
struct Rows {
  const T* data = nullptr;
  int64_t stride = 0;

  Rows From(int64_t row) const { return {data == nullptr ? nullptr : data + row * stride, stride}; }
};

// y = x * W^T for the panels [first_panel, last_panel) of one packed matrix and rows [0, rows) of x.
struct MatmulTask {
  const std::byte* panels = nullptr;  // of the whole matrix
  int64_t panel_bytes = 0;            // of each
  int64_t inputs = 0;
  int64_t outputs = 0;  // valid ones; the last panel may have fewer than 16
  int64_t first_panel = 0;
  int64_t last_panel = 0;
  int64_t rows = 0;
  const ActivationChunk* activations = nullptr;  // chunk c of row r: activations[c * activation_rows + r]
  int64_t activation_rows = 0;
  // If the kernels multiply with rows in lanes, and there are enough rows: chunk c of the task's rows is the
  // RowLaneChunk<LaneVectorsOf(rows)> at lanes + c * lanes_stride.
  const std::byte* lanes = nullptr;
  int64_t lanes_stride = 0;
  Rows<float> x;       // for F32, F16 and FP8, instead of activations
  Rows<Bf16> x_bf16;   // for BF16: rounded inputs, and a zero after an odd number of them
  float* y = nullptr;  // output 0 of row 0
  int64_t y_stride = 0;
  std::byte* scratch = nullptr;  // kMatmulScratchBytes, 64-byte aligned, one per worker
};
using MatmulKernel = void (*)(const MatmulTask&);

// Maximum rows of a task.
inline constexpr int64_t kTaskRows = 64;
static_assert(kTaskRows == kLaneVectors * kLaneRows);
// Maximum panels of a task.
inline constexpr int64_t kTaskPanels = 4;
// The sums of every row, followed by the tiles' scratch: a chunk of unpacked weights, and the tiles' sums.
inline constexpr int64_t kSumBytes = kTaskRows * kTaskPanels * kPanel * 4;
inline constexpr int64_t kTileScratchBytes = int64_t{32} << 10;
inline constexpr int64_t kMatmulScratchBytes = kSumBytes + kTileScratchBytes;

// Attention processes the positions [span * kSpan, (span + 1) * kSpan) of a sequence together, and merges spans in
// order. So the arithmetic of a row depends only on its positions.
inline constexpr int kSpan = 256;
inline constexpr int kLanes = 16;
// Maximum queries of a task: rows times the query heads that share a KV head.
inline constexpr int kTaskQueries = 64;

inline constexpr int64_t PaddedHead(int64_t head_dim) { return (head_dim + kLanes - 1) / kLanes * kLanes; }

// Elements of the keys, or values, of one head and block, before the scales.
inline constexpr int64_t KeyElements(int64_t block_size, int64_t head_dim) {
  return (block_size + kLanes - 1) / kLanes * kLanes * head_dim;
}
inline constexpr int64_t ValueElements(int64_t block_size, int64_t head_dim) {
  return block_size * PaddedHead(head_dim);
}

// Partial attention of some queries: sum(exp(score - highest) * value), its total weight, and the highest score. total
// = 0: empty.
struct AttentionSums {
  float* highest = nullptr;  // [queries]
  float* total = nullptr;    // [queries]
  float* values = nullptr;   // [queries, PaddedHead(head_dim)]
};

// Queries of one sequence that share one KV head.
template <class T>
struct AttentionTask {
  int queries = 0;
  const float* q = nullptr;        // [queries, head_dim], already scaled
  const int32_t* first = nullptr;  // [queries]: each sees the positions [first, last]
  const int32_t* last = nullptr;
  // Per block of the sequence: keys as [block_size / 16 rounded up][head_dim][16 positions], values as
  // [block_size][PaddedHead(head_dim)]. If T is kStoredWithScales, a float for each position follows.
  const T* const* keys = nullptr;
  const T* const* values = nullptr;
  int block_size = 0;  // divides kSpan, or is a multiple of it
  int head_dim = 0;
  float softcap = 0.0f;
  float* scores = nullptr;  // scratch, kScoreFloats
};
inline constexpr int64_t kScoreFloats = 8 * (kSpan + kLanes);

template <class T>
using SpanKernel = void (*)(const AttentionTask<T>&, int span, const AttentionSums& out);

// Rows of latents, [dim, padded to 16] each, become keys and values that the span kernels read.
template <class T>
using UnpackKernel = void (*)(const T* const* rows, const float* scales, int count, int64_t dim, float* keys,
                              float* values);

struct Kernels {
  CpuIsa isa = CpuIsa::kScalar;

  // --- matmuls, by PanelFormat ---
  MatmulKernel matmul[kPanelFormats] = {};
  // Whether matmuls of K types read many rows as RowLaneChunks.
  bool rows_in_lanes = false;
  // Matmuls multiply Q8_0 weights plus this.
  int32_t signed_offset = 0;
  // Up to 256 floats; missing ones are zero.
  void (*quantize_blocks)(const float* x, int64_t n, int32_t offset, ActivationChunk* out) = nullptr;
  void (*quantize_halves)(const float* x, int64_t n, int32_t offset, ActivationChunk* out) = nullptr;  // offsets by 16
  void (*quantize_chunk)(const float* x, ActivationChunk* out) = nullptr;
  void (*round_fp16)(const float* x, int64_t n, Fp16* out) = nullptr;
  void (*round_bf16)(const float* x, int64_t n, Bf16* out) = nullptr;

  // --- attention ---
  SpanKernel<float> span_fp32 = nullptr;
  SpanKernel<Fp16> span_fp16 = nullptr;
  SpanKernel<Bf16> span_bf16 = nullptr;
  SpanKernel<int8_t> span_int8 = nullptr;
  SpanKernel<Fp8> span_fp8 = nullptr;
  // into = into + from, for `queries` queries of `padded_head` values.
  void (*merge)(int queries, int64_t padded_head, const AttentionSums& from, const AttentionSums& into) = nullptr;

  // --- attention over latents ---
  // keys: [count / 16 rounded up][dim][16 rows]; values: [count][dim, padded], or null. scales: of the rows, or null.
  UnpackKernel<float> unpack_fp32 = nullptr;
  UnpackKernel<Fp16> unpack_fp16 = nullptr;
  UnpackKernel<Bf16> unpack_bf16 = nullptr;
  UnpackKernel<int8_t> unpack_int8 = nullptr;
  UnpackKernel<Fp8> unpack_fp8 = nullptr;
  // scores[i] = sum over h of weights[h] * max(0, q[h] . key i), in order; q: [heads, dim], keys as above.
  void (*index_scores)(const float* q, const float* weights, int heads, int64_t dim, const float* keys, int count,
                       float* scores) = nullptr;

  // --- ceilings: multiply-adds of the fastest unit, and a sequential read ---
  // Returns the operations done, two per multiply-add; rounds must be a multiple of 16. For int8: what block formats
  // can use.
  double (*int8_rounds)(int64_t rounds) = nullptr;
  double (*bf16_rounds)(int64_t rounds) = nullptr;
  double (*float_rounds)(int64_t rounds) = nullptr;
  // Reads with a prefetch distance of `prefetch` bytes, also past the end.
  void (*read_bytes)(const std::byte* data, int64_t bytes, int64_t prefetch) = nullptr;

  // --- rows of floats ---
  void (*add)(const float* a, const float* b, float* out, int64_t n) = nullptr;
  void (*scale)(const float* x, float factor, float* out, int64_t n) = nullptr;
  void (*rms_norm)(const float* x, const float* weight, float epsilon, float* out, int64_t n) = nullptr;
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon, float* out,
                     int64_t n) = nullptr;
  // One token of a head's selective scan: state[i] = decay * state[i] + b[i] * x and y = sum of c[i] * state[i], in
  // order, for i in [0, n); state: [n, width], x and y: width.
  void (*scan_token)(float* state, float decay, const float* b, const float* c, const float* x, float* y, int64_t n,
                     int64_t width) = nullptr;
  void (*soft_cap)(const float* x, float cap, float* out, int64_t n) = nullptr;
  void (*gate[7])(const float* gate, const float* up, float* out, int64_t n) = {};  // by Activation
  void (*activate[6])(const float* x, float* out, int64_t n) = {};                  // the same, except gate-only ones
  void (*rope[2])(const float* x, const float* cosines, const float* sines, int64_t pairs,
                  float* out) = {};  // by style
};

// The sets of kernels in this build (INFERFLUX_CPU, cmake/InferfluxCpu.cmake), slowest first.
std::span<const CpuIsa> BuiltIsas();

// Kernels of `isa`, with the optional parts in `features`; scalar ones if this build does not have the set.
const Kernels& KernelsFor(CpuIsa isa, const CpuFeatures& features = DetectCpuFeatures());

}  // namespace inferflux::compute::cpu
