#include "compute/host/rank_ops.h"

#include <algorithm>
#include <numeric>
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

// Shares may differ by some columns, so each rank sends as many as the largest has.
std::vector<float> GatherColumns(collective::Collective& ranks, std::span<const float> own, int64_t rows,
                                 std::span<const int64_t> columns) {
  int64_t most = 0, total = 0;
  for (const int64_t count : columns) {
    most = std::max(most, count);
    total += count;
  }
  const int64_t width = columns[static_cast<size_t>(ranks.rank())];
  std::vector<float> sent(static_cast<size_t>(rows * most));
  for (int64_t r = 0; r < rows; ++r) std::copy_n(own.data() + r * width, width, sent.data() + r * most);
  std::vector<float> all(sent.size() * columns.size());
  ThrowIfFailed(ranks.AllGather(std::as_bytes(std::span(sent)), std::as_writable_bytes(std::span(all))));
  std::vector<float> out(static_cast<size_t>(rows * total));
  float* to = out.data();
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t rank = 0; rank < columns.size(); ++rank) {
      to = std::copy_n(all.data() + (static_cast<int64_t>(rank) * rows + r) * most, columns[rank], to);
    }
  }
  return out;
}

Buffer GatherOverRanks(Arena& arena, collective::Collective& ranks, View x, std::span<const int64_t> columns) {
  const std::vector<float> all = GatherColumns(ranks, Read(x), x.rows, columns);
  const int64_t total = std::accumulate(columns.begin(), columns.end(), int64_t{0});
  Buffer out = arena.Allocate(x.rows, total);
  for (int64_t r = 0; r < x.rows; ++r) std::copy_n(all.data() + r * total, total, out.row(r));
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
