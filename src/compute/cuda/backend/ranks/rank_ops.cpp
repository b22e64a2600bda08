// The operations of RankCollectives, over the host: a copy from the device, the ranks' transport, a copy back. So they
// work with every transport, without memory that devices share. Between GPUs of one host NCCL would copy directly;
// nothing uses it yet (docs/cuda.md).
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "compute/cuda/backend/operation.h"
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

// Shares may differ by some columns, so each rank gives as many as the largest has.
Cuda::Buffer Cuda::GatherOverRanks(Context& context, View x, std::span<const int64_t> columns) {
  int64_t most = 0, total = 0;
  for (const int64_t count : columns) {
    most = std::max(most, count);
    total += count;
  }
  const std::vector<float> read = Read(context, x);
  std::vector<float> own(static_cast<size_t>(x.rows * most));
  for (int64_t r = 0; r < x.rows; ++r) std::copy_n(read.data() + r * x.cols, x.cols, own.data() + r * most);
  std::vector<float> all(own.size() * columns.size());
  cuda_ops::Must(context.ranks->AllGather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all))));
  std::vector<float> beside(static_cast<size_t>(x.rows * total));
  float* to = beside.data();
  for (int64_t r = 0; r < x.rows; ++r) {
    for (size_t rank = 0; rank < columns.size(); ++rank) {
      to = std::copy_n(all.data() + (static_cast<int64_t>(rank) * x.rows + r) * most, columns[rank], to);
    }
  }
  Buffer out = cuda_ops::New(context, x.rows, total);
  if (out.memory) CopyToDevice(context, beside, out);
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
