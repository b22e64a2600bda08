#include "compute/cpu/read_bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <vector>

namespace inferflux::compute::cpu {
namespace {

using RateClock = std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{512} << 20;
constexpr int64_t kReadChunk = int64_t{16} << 20;  // long runs: the first lines of each are not prefetched
// The prefetch distance. The best one for one machine costs another a sixth (Zen 4 and Zen 3).
constexpr int64_t kReadAheads[] = {4096, 16384};

double SecondsSince(RateClock::time_point start) {
  return std::chrono::duration<double>(RateClock::now() - start).count();
}

}  // namespace

double MedianRate(double seconds, FunctionRef<double()> run) {
  std::vector<double> rates;
  const auto start = RateClock::now();
  while (rates.size() < 3 || SecondsSince(start) < seconds) {
    const auto before = RateClock::now();
    const double work = run();
    rates.push_back(work / SecondsSince(before));
  }
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

Result<ReadBandwidthMeter> ReadBandwidthMeter::Create(ThreadPool& pool, const Kernels& kernels) {
  auto pages = host::Pages::Allocate(kReadBytes, "the bandwidth measurement");
  if (!pages) return Forward(pages);
  std::memset(pages->data(), 1, pages->size());
  return ReadBandwidthMeter(pool, kernels, std::move(*pages));
}

double ReadBandwidthMeter::Measure(double seconds) {
  double best = 0.0;
  for (const int64_t ahead : kReadAheads) {
    best = std::max(best, MedianRate(seconds / static_cast<double>(std::size(kReadAheads)), [&] {
                      pool_.ParallelFor(static_cast<int64_t>(kReadBytes) / kReadChunk, 1,
                                        [&](int64_t chunk, int64_t, int) {
                                          kernels_.read_bytes(pages_.data() + chunk * kReadChunk, kReadChunk, ahead);
                                        });
                      return static_cast<double>(kReadBytes);
                    }));
  }
  return best;
}

}  // namespace inferflux::compute::cpu
