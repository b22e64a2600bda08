#include "apps/inferflux_bench/ceiling.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>

namespace inferflux::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{512} << 20;
constexpr int64_t kReadChunk = int64_t{16} << 20;  // long runs: the first lines of each are not prefetched
// The prefetch distance. The best one for one machine costs another a sixth (Zen 4 and Zen 3).
constexpr int64_t kReadAheads[] = {4096, 16384};
constexpr int64_t kRounds = 16 * 1024;  // tens of microseconds

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

Ceilings Mean(const Ceilings& a, const Ceilings& b) {
  return {(a.read_bytes + b.read_bytes) / 2, (a.int8_operations + b.int8_operations) / 2,
          (a.bf16_operations + b.bf16_operations) / 2, (a.float_operations + b.float_operations) / 2};
}

Result<CeilingMeter> CeilingMeter::Create(ThreadPool& pool, const compute::cpu::Kernels& kernels) {
  auto pages = compute::host::Pages::Allocate(kReadBytes, "the bandwidth measurement");
  if (!pages) return Forward(pages);
  std::memset(pages->data(), 1, pages->size());
  return CeilingMeter(pool, kernels, std::move(*pages));
}

template <class F>
double CeilingMeter::Rate(double seconds, F run) {
  std::vector<double> rates;
  const auto start = Clock::now();
  while (rates.size() < 3 || SecondsSince(start) < seconds) {
    const auto before = Clock::now();
    const double work = run();
    rates.push_back(work / SecondsSince(before));
  }
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
}

Ceilings CeilingMeter::Measure(double seconds) {
  const auto rounds = [&](double (*kernel)(int64_t)) {
    const int64_t chunks = int64_t{64} * pool_.workers();
    std::vector<double> done(static_cast<size_t>(chunks));
    pool_.ParallelFor(chunks, 1, [&](int64_t chunk, int64_t, int) { done[chunk] = kernel(kRounds); });
    double total = 0.0;
    for (const double each : done) total += each;
    return total;
  };
  Ceilings out;
  for (const int64_t ahead : kReadAheads) {
    const double rate = Rate(seconds / 2 / std::size(kReadAheads), [&] {
      pool_.ParallelFor(static_cast<int64_t>(kReadBytes) / kReadChunk, 1, [&](int64_t chunk, int64_t, int) {
        kernels_.read_bytes(pages_.data() + chunk * kReadChunk, kReadChunk, ahead);
      });
      return static_cast<double>(kReadBytes);
    });
    out.read_bytes = std::max(out.read_bytes, rate);
  }
  out.int8_operations = Rate(seconds / 6, [&] { return rounds(kernels_.int8_rounds); });
  out.bf16_operations = Rate(seconds / 6, [&] { return rounds(kernels_.bf16_rounds); });
  out.float_operations = Rate(seconds / 6, [&] { return rounds(kernels_.float_rounds); });
  return out;
}

}  // namespace inferflux::apps
