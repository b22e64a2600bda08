// The operations of RankCollectives, over the host: a copy from the device, the ranks' transport, a copy back. So they
// work with every transport, without memory that devices share. Between GPUs of one host NCCL would copy directly;
// nothing uses it yet (docs/cuda.md).
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "compute/cuda/backend/operation.h"
#include "compute/host/rank_ops.h"
#include "compute/rank_collectives.h"

namespace inferflux::compute {
namespace {

// Not part of a step that is captured: graphs are off where several ranks share a model.
void CopyToDevice(Cuda::Context& context, std::span<const float> values, const Cuda::Buffer& to) {
  cuda_ops::Must(context.staging->Copy(to.data(), std::as_bytes(values)));
}

}  // namespace

Cuda::Buffer Cuda::SumOverRanks(Context& context, Buffer x) {
  if (x.rows == 0) return x;
  std::vector<float> values = Read(context, x);
  cuda_ops::Must(context.ranks->AllReduce(values, collective::Reduction::kSum));
  CopyToDevice(context, values, x);
  return x;
}

Cuda::Buffer Cuda::GatherOverRanks(Context& context, View x, std::span<const int64_t> columns) {
  const std::vector<float> all = host::GatherColumns(*context.ranks, Read(context, x), x.rows, columns);
  Buffer out = cuda_ops::New(context, x.rows, std::accumulate(columns.begin(), columns.end(), int64_t{0}));
  if (out.memory) CopyToDevice(context, all, out);
  return out;
}

void Cuda::SendRows(Context& context, View x, int32_t to) {
  const std::vector<float> values = Read(context, x);
  cuda_ops::Must(context.ranks->Send(std::as_bytes(std::span(values)), to));
}

Cuda::Buffer Cuda::ReceiveRows(Context& context, int64_t rows, int64_t columns, int32_t from) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  cuda_ops::Must(context.ranks->Receive(std::as_writable_bytes(std::span(values)), from));
  Buffer out = cuda_ops::New(context, rows, columns);
  if (out.memory) CopyToDevice(context, values, out);
  return out;
}

}  // namespace inferflux::compute
