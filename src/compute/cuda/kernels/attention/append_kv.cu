#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/kernels/attention/attention.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/store_row.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kAppendThreads = 128;

// Without scales a slot is its row, rounded, whatever its heads are. Blocks x are rows, of which there may be many, y
// share a row; z 0 has the keys, 1 the values.
template <class S, int kPack>
__global__ void AppendKernel(Rows<const float> k, Rows<const float> v, const int32_t* slots, KvPointers<S> kv) {
  WaitForKernelsBefore();
  constexpr int kRun = kPack < kWidest<float> ? kPack : kWidest<float>;  // floats of one load
  const int64_t row = BlockIndex().x;
  const int64_t pack = int64_t{BlockIndex().y} * kAppendThreads + ThreadIndex().x;
  if (pack >= k.columns / kPack) return;
  const bool keys = BlockIndex().z == 0;
  const float* from = keys ? k.data + row * k.stride : v.data + row * v.stride;
  S* to = (keys ? kv.keys : kv.values) + int64_t{slots[row]} * k.columns;
  Pack<S, kPack> out;
  for (int run = 0; run < kPack / kRun; ++run) {
    const auto values = *reinterpret_cast<const Pack<float, kRun>*>(from + pack * kPack + run * kRun);
    for (int i = 0; i < kRun; ++i) out.x[run * kRun + i] = FromFloat<S>(values.x[i]);
  }
  reinterpret_cast<Pack<S, kPack>*>(to)[pack] = out;
}

// With scales. Blocks x are rows, y are heads; z 0 has the keys, 1 the values.
template <class S>
__global__ void AppendScaledKernel(Rows<const float> k, Rows<const float> v, int heads, const int32_t* slots,
                                   KvPointers<S> kv) {
  const int64_t row = BlockIndex().x;
  const auto head = static_cast<int64_t>(BlockIndex().y);
  const bool keys = BlockIndex().z == 0;
  const int dim = static_cast<int>(k.columns) / heads;
  const float* from = (keys ? k.data + row * k.stride : v.data + row * v.stride) + head * dim;
  StoreRow([&](int d) { return from[d]; }, dim, int64_t{slots[row]} * heads + head, keys ? kv.keys : kv.values,
           keys ? kv.key_scales : kv.value_scales);
}

template <class S, int kPack>
Status LaunchAppend(Rows<const float> k, Rows<const float> v, const int32_t* slots, KvPointers<S> kv, Stream stream) {
  const auto blocks = static_cast<unsigned>((k.columns / kPack + kAppendThreads - 1) / kAppendThreads);
  return LaunchEarly(AppendKernel<S, kPack>, {static_cast<unsigned>(k.rows), blocks, 2}, {kAppendThreads}, 0, stream, k,
                     v, slots, kv);
}

}  // namespace

template <class S>
Status AppendKv(Rows<const float> k, Rows<const float> v, int32_t kv_heads, const int32_t* slots, KvPointers<S> kv,
                Stream stream) {
  if constexpr (compute::kStoredWithScales<S>) {
    return Launch(AppendScaledKernel<S>, {static_cast<unsigned>(k.rows), static_cast<unsigned>(kv_heads), 2},
                  {kWarpSize}, 0, stream, k, v, kv_heads, slots, kv);
  } else {
    constexpr int kPack = sizeof(S) == 4 ? 4 : 8;
    if (Packs<float>(kWidest<float>, k.columns, {k.stride, v.stride}, {k.data, v.data}) &&
        Packs<S>(kPack, k.columns, {}, {kv.keys, kv.values})) {
      return LaunchAppend<S, kPack>(k, v, slots, kv, stream);
    }
    return LaunchAppend<S, 1>(k, v, slots, kv, stream);
  }
}

template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<float>, Stream);
template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<Fp16>, Stream);
template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<Bf16>, Stream);
template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<int8_t>, Stream);
template Status AppendKv(Rows<const float>, Rows<const float>, int32_t, const int32_t*, KvPointers<Fp8>, Stream);

}  // namespace inferflux::cuda
