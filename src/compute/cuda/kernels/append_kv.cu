#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/attention.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kAppendThreads = 128;

// A block stores one row.
template <class T, int kPack>
__global__ void AppendKernel(Rows<const T> k, Rows<const T> v, const int32_t* slots, T* keys, T* values) {
  using Values = Pack<T, kPack>;
  const int64_t row = BlockIndex().x;
  const int64_t to = int64_t{slots[row]} * k.columns;
  const auto packs = static_cast<unsigned>(k.columns / kPack);
  for (unsigned p = ThreadIndex().x; p < packs; p += BlockSize().x) {
    reinterpret_cast<Values*>(keys + to)[p] = reinterpret_cast<const Values*>(k.data + row * k.stride)[p];
    reinterpret_cast<Values*>(values + to)[p] = reinterpret_cast<const Values*>(v.data + row * v.stride)[p];
  }
}

}  // namespace

template <class T>
Status AppendKv(Rows<const T> k, Rows<const T> v, const int32_t* slots, T* keys, T* values, Stream stream) {
  constexpr int kPack = kWidest<T>;
  const Dim3 grid{static_cast<unsigned>(k.rows)};
  if (Packs<T>(kPack, k.columns, {k.stride, v.stride}, {k.data, v.data, keys, values})) {
    return Launch(AppendKernel<T, kPack>, grid, {kAppendThreads}, 0, stream, k, v, slots, keys, values);
  }
  return Launch(AppendKernel<T, 1>, grid, {kAppendThreads}, 0, stream, k, v, slots, keys, values);
}

template Status AppendKv(Rows<const Fp16>, Rows<const Fp16>, const int32_t*, Fp16*, Fp16*, Stream);
template Status AppendKv(Rows<const Bf16>, Rows<const Bf16>, const int32_t*, Bf16*, Bf16*, Stream);

}  // namespace inferflux::cuda
