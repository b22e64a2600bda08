#include "compute/host/rank_ops.h"

#include <algorithm>
#include <vector>

#include "base/without_exceptions.h"
#include "compute/host/copies.h"

namespace inferflux::compute::host {
namespace {

void ThrowIfFailed(Status status) {
  if (!status) throw ThrownError(std::move(status.error()));
}

}  // namespace

Buffer SumOverRanks(collective::Collective& ranks, Buffer x) {
  if (x.rows() == 0) return x;
  if (x.stride() == x.cols()) {
    ThrowIfFailed(ranks.AllReduce({x.row(0), static_cast<size_t>(x.rows() * x.cols())}, collective::Reduction::kSum));
    return x;
  }
  std::vector<float> values = Read(x);
  ThrowIfFailed(ranks.AllReduce(values, collective::Reduction::kSum));
  for (int64_t r = 0; r < x.rows(); ++r) std::copy_n(values.data() + r * x.cols(), x.cols(), x.row(r));
  return x;
}

// Shares may differ by some columns, so each rank gives as many as the largest has.
Buffer GatherOverRanks(Arena& arena, collective::Collective& ranks, View x, std::span<const int64_t> columns) {
  int64_t most = 0, total = 0;
  for (const int64_t count : columns) {
    most = std::max(most, count);
    total += count;
  }
  std::vector<float> own(static_cast<size_t>(x.rows * most));
  for (int64_t r = 0; r < x.rows; ++r) std::copy_n(x.row(r), x.cols, own.data() + r * most);
  std::vector<float> all(own.size() * columns.size());
  ThrowIfFailed(ranks.AllGather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all))));
  Buffer out = arena.Allocate(x.rows, total);
  for (int64_t r = 0; r < x.rows; ++r) {
    float* to = out.row(r);
    for (size_t rank = 0; rank < columns.size(); ++rank) {
      to = std::copy_n(all.data() + (static_cast<int64_t>(rank) * x.rows + r) * most, columns[rank], to);
    }
  }
  return out;
}

void SendRows(collective::Collective& ranks, View x, int32_t to) {
  const std::vector<float> values = Read(x);
  ThrowIfFailed(ranks.Send(std::as_bytes(std::span(values)), to));
}

Buffer ReceiveRows(Arena& arena, collective::Collective& ranks, int64_t rows, int64_t columns, int32_t from) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  ThrowIfFailed(ranks.Receive(std::as_writable_bytes(std::span(values)), from));
  Buffer out = arena.Allocate(rows, columns);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(values.data() + r * columns, columns, out.row(r));
  return out;
}

}  // namespace inferflux::compute::host
