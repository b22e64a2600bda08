// The peak rates of this machine or of its device, now. Machines are shared, so a ceiling counts only when it is
// measured right before and right after the measurement that is compared with it.
#pragma once

#include "base/thread_pool.h"
#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/read_bandwidth.h"
#include "compute/device_features.h"

namespace inferflux::apps {

// Rates of all cores of the pool together, or of a device, in units a second.
struct Ceilings {
  double read_bytes = 0.0;
  double int8_operations = 0.0;  // a multiply-add counts as two
  double bf16_operations = 0.0;
  double float_operations = 0.0;
};

// A device's, whose tensor cores multiply every type of weights.
Ceilings CeilingsOf(const compute::DeviceRates& device);

Ceilings Mean(const Ceilings& a, const Ceilings& b);

class CeilingMeter {
 public:
  static Result<CeilingMeter> Create(ThreadPool& pool, const compute::cpu::Kernels& kernels);

  // Medians over `seconds` in total.
  Ceilings Measure(double seconds);

 private:
  CeilingMeter(ThreadPool& pool, const compute::cpu::Kernels& kernels, compute::cpu::ReadBandwidthMeter bandwidth)
      : pool_(pool), kernels_(kernels), bandwidth_(std::move(bandwidth)) {}

  ThreadPool& pool_;
  const compute::cpu::Kernels& kernels_;
  compute::cpu::ReadBandwidthMeter bandwidth_;
};

}  // namespace inferflux::apps
