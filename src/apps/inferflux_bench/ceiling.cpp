#include "apps/inferflux_bench/ceiling.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace inferflux::apps {
namespace {

constexpr int64_t kRounds = 16 * 1024;  // tens of microseconds

}  // namespace

Ceilings CeilingsOf(const compute::DeviceRates& device) {
  return {.read_bytes = device.copy_bytes,
          .int8_operations = device.tensor_operations,
          .bf16_operations = device.tensor_operations,
          .float_operations = device.tensor_operations};
}

Ceilings Mean(const Ceilings& a, const Ceilings& b) {
  return {(a.read_bytes + b.read_bytes) / 2, (a.int8_operations + b.int8_operations) / 2,
          (a.bf16_operations + b.bf16_operations) / 2, (a.float_operations + b.float_operations) / 2};
}

Result<CeilingMeter> CeilingMeter::Create(ThreadPool& pool, const compute::cpu::Kernels& kernels) {
  auto bandwidth = compute::cpu::ReadBandwidthMeter::Create(pool, kernels);
  if (!bandwidth) return Forward(bandwidth);
  return CeilingMeter(pool, kernels, std::move(*bandwidth));
}

Ceilings CeilingMeter::Measure(double seconds) {
  const auto rate = [&](double (*kernel)(int64_t)) {
    return compute::cpu::MedianRate(seconds / 6, [&] {
      const int64_t chunks = int64_t{64} * pool_.workers();
      std::vector<double> done(static_cast<size_t>(chunks));
      pool_.ParallelFor(chunks, 1, [&](int64_t chunk, int64_t, int) { done[chunk] = kernel(kRounds); });
      double total = 0.0;
      for (const double each : done) total += each;
      return total;
    });
  };
  return {.read_bytes = bandwidth_.Measure(seconds / 2),
          .int8_operations = rate(kernels_.int8_rounds),
          .bf16_operations = rate(kernels_.bf16_rounds),
          .float_operations = rate(kernels_.float_rounds)};
}

}  // namespace inferflux::apps
