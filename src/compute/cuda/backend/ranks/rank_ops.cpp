// The operations of RankCollectives: by NCCL in the step's stream, or over the host by a copy from the device, the
// ranks' transport and a copy back. The second works with every transport, without memory that devices share.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "compute/cuda/backend/operation.h"
#include "compute/cuda/backend/ranks/device_ranks.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/host/rank_ops.h"
#include "compute/rank_collectives.h"

namespace inferflux::compute {
namespace {

// Not part of a step that is captured: graphs are off where several ranks share a model.
void CopyToDevice(Cuda::Context& context, std::span<const float> values, const Cuda::Buffer& to) {
  cuda_ops::Must(context.staging->Copy(to.data(), std::as_bytes(values)));
}

size_t CountOf(const Cuda::Buffer& x) { return static_cast<size_t>(x.rows * x.cols); }

// The devices' communicator, unless they have failed.
cuda::NcclCommunicator& Connected(Cuda::Context& context) {
  cuda_ops::Must(context.devices->Check());
  return context.devices->communicator();
}

// A copy within the device, also of rows with gaps.
void CopyRows(Cuda::Context& context, const Cuda::View& from, const cuda::Rows<float>& to) {
  cuda_ops::Must(cuda::Scale(cuda_ops::RowsOf(from), 1.0f, to, context.stream));
}

// Each rank's columns, with as many more as the rank with the most has, so that all send the same count.
Cuda::Buffer GatherOnDevices(Cuda::Context& context, Cuda::View x, std::span<const int64_t> columns) {
  const int64_t most = *std::ranges::max_element(columns);
  const auto ranks = static_cast<int64_t>(columns.size());
  Cuda::Buffer out = cuda_ops::New(context, x.rows, std::accumulate(columns.begin(), columns.end(), int64_t{0}));
  if (!out.memory) return out;
  const Cuda::Buffer sent = cuda_ops::New(context, x.rows, most);
  const Cuda::Buffer all = cuda_ops::New(context, ranks * x.rows, most);
  if (x.cols < most) {  // what is between is sent too
    cuda_ops::Must(context.runtime->Fill(sent.data(), 0, CountOf(sent) * sizeof(float), context.stream));
  }
  CopyRows(context, x, cuda_ops::ColumnsOf(sent, 0, x.cols));
  cuda_ops::Must(Connected(context).AllGather(sent.data(), all.data(), CountOf(sent), context.stream));
  int64_t first = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t count = columns[static_cast<size_t>(rank)];
    const Cuda::View own{all.data() + rank * x.rows * most, x.rows, count, most};
    if (count > 0) CopyRows(context, own, cuda_ops::ColumnsOf(out, first, count));
    first += count;
  }
  return out;
}

}  // namespace

Result<std::string> Cuda::JoinRanks(Context& context, const std::shared_ptr<collective::Collective>& ranks,
                                    const std::string& wanted) {
  auto link = cuda::LinkRanks(ranks, *context.runtime, context.stream, context.open_nccl, wanted);
  if (!link) return Forward(link);
  context.ranks = ranks.get();
  context.devices = std::move(link->devices);
  if (ranks == nullptr) return std::string();
  if (context.devices != nullptr) {
    return fmt::format("NCCL {} (steps are told through {})", link->nccl, ranks->name());
  }
  return link->why.empty() ? ranks->name() : fmt::format("{}, not NCCL ({})", ranks->name(), link->why);
}

Cuda::Buffer Cuda::SumOverRanks(Context& context, Buffer x) {
  if (x.rows == 0) return x;
  if (context.devices != nullptr) {
    cuda_ops::Must(Connected(context).AllReduce(x.data(), CountOf(x), collective::Reduction::kSum, context.stream));
    return x;
  }
  std::vector<float> values = Read(context, x);
  cuda_ops::Must(context.ranks->AllReduce(values, collective::Reduction::kSum));
  CopyToDevice(context, values, x);
  return x;
}

Cuda::Buffer Cuda::GatherOverRanks(Context& context, View x, std::span<const int64_t> columns) {
  if (context.devices != nullptr) return GatherOnDevices(context, x, columns);
  const std::vector<float> all = host::GatherColumns(*context.ranks, Read(context, x), x.rows, columns);
  Buffer out = cuda_ops::New(context, x.rows, std::accumulate(columns.begin(), columns.end(), int64_t{0}));
  if (out.memory) CopyToDevice(context, all, out);
  return out;
}

void Cuda::SendRows(Context& context, View x, int32_t to) {
  if (context.devices != nullptr) {
    const Buffer dense = Scale(context, x, 1.0f);
    if (dense.memory) {
      cuda_ops::Must(Connected(context).Send(dense.data(), CountOf(dense), to, context.stream));
    }
    return;
  }
  const std::vector<float> values = Read(context, x);
  cuda_ops::Must(context.ranks->Send(std::as_bytes(std::span(values)), to));
}

Cuda::Buffer Cuda::ReceiveRows(Context& context, int64_t rows, int64_t columns, int32_t from) {
  Buffer out = cuda_ops::New(context, rows, columns);
  if (context.devices != nullptr) {
    if (out.memory) cuda_ops::Must(Connected(context).Receive(out.data(), CountOf(out), from, context.stream));
    return out;
  }
  std::vector<float> values(CountOf(out));
  cuda_ops::Must(context.ranks->Receive(std::as_writable_bytes(std::span(values)), from));
  if (out.memory) CopyToDevice(context, values, out);
  return out;
}

}  // namespace inferflux::compute
