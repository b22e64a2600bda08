#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kEmbedThreads = 128;

// A block copies one row.
template <class T, int kPack>
__global__ void EmbedKernel(Rows<const T> table, const int32_t* tokens, T* y) {
  using Values = Pack<T, kPack>;
  const int64_t row = BlockIndex().x;
  const auto* from = reinterpret_cast<const Values*>(table.data + tokens[row] * table.stride);
  auto* to = reinterpret_cast<Values*>(y + row * table.columns);
  const auto packs = static_cast<unsigned>(table.columns / kPack);
  for (unsigned p = ThreadIndex().x; p < packs; p += BlockSize().x) to[p] = from[p];
}

}  // namespace

template <class T>
Status Embed(Rows<const T> table, const int32_t* tokens, int64_t count, T* y, Stream stream) {
  constexpr int kPack = kWidest<T>;
  const Dim3 grid{static_cast<unsigned>(count)};
  if (Packs<T>(kPack, table.columns, {table.stride}, {table.data, y})) {
    return Launch(EmbedKernel<T, kPack>, grid, {kEmbedThreads}, 0, stream, table, tokens, y);
  }
  return Launch(EmbedKernel<T, 1>, grid, {kEmbedThreads}, 0, stream, table, tokens, y);
}

template Status Embed(Rows<const float>, const int32_t*, int64_t, float*, Stream);
template Status Embed(Rows<const Fp16>, const int32_t*, int64_t, Fp16*, Stream);
template Status Embed(Rows<const Bf16>, const int32_t*, int64_t, Bf16*, Stream);

}  // namespace inferflux::cuda
