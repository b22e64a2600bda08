#include <cmath>

#include "compute/cuda/device/half.h"
#include "compute/cuda/kernels/attention/attention.h"
#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kPlainThreads = 128;
constexpr int64_t kMostDims = 4096;

// The shared memory of a block: the query, the sums, and of each key of a chunk its weight and its slot.
struct PlainShared {
  float* query;
  float* out;
  float* weights;
  int64_t* slots;
  float* largest;  // of BlockMax
  float* sum;      // of BlockSum

  __device__ explicit PlainShared(int dim)
      : query(SharedMemory<float>()),
        out(query + dim),
        weights(out + dim),
        slots(SharedMemory<int64_t>(SlotsAt(dim))),
        largest(SharedMemory<float>(SlotsAt(dim) + kPlainThreads * sizeof(int64_t))),
        sum(largest + kWarpSize) {}

  __host__ __device__ static unsigned SlotsAt(int dim) {
    return static_cast<unsigned>((2 * dim + kPlainThreads + 1) / 2 * 2 * static_cast<int>(sizeof(float)));
  }
  static unsigned Bytes(int dim) { return SlotsAt(dim) + kPlainThreads * sizeof(int64_t) + 2 * kReduceBytes; }
};

// Blocks x are rows, y are heads. A thread takes one key of a chunk for the scores, and then some dimensions for the
// sums. Chunks begin at absolute multiples of 128 positions, so that a row's result does not depend on the step.
template <class S>
__global__ void PlainAttentionKernel(PlainAttentionArguments<S> a) {
  const auto row = static_cast<int64_t>(BlockIndex().x);
  const int head = static_cast<int>(BlockIndex().y);
  const int thread = static_cast<int>(ThreadIndex().x);
  const int dim = a.params.head_dim;
  const int kv_heads = a.params.kv_heads;
  const int kv_head = head / (a.params.heads / kv_heads);
  const int sequence = a.step.sequences[row];
  const int32_t* table = a.step.block_tables + a.step.table_starts[sequence];
  const int position = a.step.positions[row];
  const int window = a.params.window;
  const int end = a.step.positions[a.step.query_starts[sequence + 1] - 1];
  int last = a.params.causal ? position : end;
  if (window > 0 && last > position + window - 1) last = position + window - 1;
  const int first = FirstSeen(a.params, position);

  const PlainShared shared(dim);
  for (int d = thread; d < dim; d += kPlainThreads) {
    shared.query[d] = a.q.data[row * a.q.stride + int64_t{head} * dim + d];
    shared.out[d] = 0.0f;
  }
  float largest = a.sinks != nullptr ? a.sinks[head] : -INFINITY;
  float sum = a.sinks != nullptr ? 1.0f : 0.0f;

  for (int chunk = first / kPlainThreads * kPlainThreads; chunk <= last; chunk += kPlainThreads) {
    SyncThreads();  // the query is there; the weights of the last chunk were used
    const int key = chunk + thread;
    float score = -INFINITY;
    int64_t at = 0;  // of the key's head in the store
    if (key >= first && key <= last) {
      at = a.step.Slot(table, key) * kv_heads + kv_head;
      const S* elements = a.kv.keys + at * dim;
      score = 0.0f;
      for (int d = 0; d < dim; ++d) score = fmaf(shared.query[d], AsFloat(elements[d]), score);
      score *= a.params.scale;
      if (a.kv.key_scales != nullptr) score *= a.kv.key_scales[at];
      if (a.biases != nullptr) score += a.biases[head * a.distances + a.distances / 2 + key - position];
      if (a.params.softcap > 0.0f) score = a.params.softcap * tanhf(score / a.params.softcap);
    }
    const float top = fmaxf(largest, BlockMax(score, shared.largest));
    const float base = top == -INFINITY ? 0.0f : top;
    const float factor = largest == -INFINITY ? 0.0f : expf(largest - base);  // 0: of zeros
    const float weight = expf(score - base);
    largest = top;
    sum = fmaf(sum, factor, BlockSum(weight, shared.sum));
    shared.weights[thread] =
        a.kv.value_scales != nullptr && key >= first && key <= last ? weight * a.kv.value_scales[at] : weight;
    shared.slots[thread] = at;
    SyncThreads();
    const int from = first > chunk ? first - chunk : 0;
    const int to = last - chunk < kPlainThreads - 1 ? last - chunk : kPlainThreads - 1;
    for (int d = thread; d < dim; d += kPlainThreads) {
      float total = shared.out[d] * factor;
      for (int k = from; k <= to; ++k) {
        total = fmaf(shared.weights[k], AsFloat(a.kv.values[shared.slots[k] * dim + d]), total);
      }
      shared.out[d] = total;
    }
  }
  float* y = a.y + (row * a.params.heads + head) * dim;
  for (int d = thread; d < dim; d += kPlainThreads) y[d] = shared.out[d] / sum;
}

}  // namespace

template <class S>
Status AttendPlainly(const PlainAttentionArguments<S>& a, Stream stream) {
  if (a.params.head_dim > kMostDims) {
    return Fail(ErrorCode::kUnsupported, "attention with heads of {}; at most {} are supported", a.params.head_dim,
                kMostDims);
  }
  return Launch(PlainAttentionKernel<S>, {static_cast<unsigned>(a.q.rows), static_cast<unsigned>(a.params.heads)},
                {kPlainThreads}, PlainShared::Bytes(a.params.head_dim), stream, a);
}

template Status AttendPlainly(const PlainAttentionArguments<float>&, Stream);
template Status AttendPlainly(const PlainAttentionArguments<Fp16>&, Stream);
template Status AttendPlainly(const PlainAttentionArguments<Bf16>&, Stream);
template Status AttendPlainly(const PlainAttentionArguments<int8_t>&, Stream);
template Status AttendPlainly(const PlainAttentionArguments<Fp8>&, Stream);

}  // namespace inferflux::cuda
