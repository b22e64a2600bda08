// How fast the cores of a pool read memory, now. Machines are shared, so a figure is worth something only beside what
// is measured right before or after it.
#pragma once

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "compute/cpu/kernels/kernel_table.h"
#include "compute/host/pages.h"

namespace inferflux::compute::cpu {

// The median of the rates of `run`, which returns the work that it did, over `seconds`, and at least three runs.
double MedianRate(double seconds, FunctionRef<double()> run);

class ReadBandwidthMeter {
 public:
  // Holds 512 MiB to read from, more than any cache.
  static Result<ReadBandwidthMeter> Create(ThreadPool& pool, const Kernels& kernels);

  // Bytes a second.
  double Measure(double seconds);

 private:
  ReadBandwidthMeter(ThreadPool& pool, const Kernels& kernels, host::Pages pages)
      : pool_(pool), kernels_(kernels), pages_(std::move(pages)) {}

  ThreadPool& pool_;
  const Kernels& kernels_;
  host::Pages pages_;
};

}  // namespace inferflux::compute::cpu
