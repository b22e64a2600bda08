// What the machine can do at best, here and now. Machines are shared, so a ceiling counts only when it is measured
// right before and right after the thing that is held against it.
#pragma once

#include <cstddef>
#include <vector>

#include "base/thread_pool.h"
#include "compute/cpu/kernels/kernel_table.h"
#include "compute/host/pages.h"

namespace inferflux::apps {

// All cores of the pool together, a second.
struct Ceilings {
  double read_bytes = 0.0;
  double int8_operations = 0.0;  // a multiply-add is two
  double bf16_operations = 0.0;
  double float_operations = 0.0;
};

Ceilings Mean(const Ceilings& a, const Ceilings& b);

class CeilingMeter {
 public:
  // Holds 512 MiB, more than any cache, to read from.
  static Result<CeilingMeter> Create(ThreadPool& pool, const compute::cpu::Kernels& kernels);

  // Medians over `seconds` in all.
  Ceilings Measure(double seconds);

 private:
  CeilingMeter(ThreadPool& pool, const compute::cpu::Kernels& kernels, compute::host::Pages pages)
      : pool_(pool), kernels_(kernels), pages_(std::move(pages)) {}

  // The median of what `run`, which says how much it did, does a second.
  template <class F>
  double Rate(double seconds, F run);

  ThreadPool& pool_;
  const compute::cpu::Kernels& kernels_;
  compute::host::Pages pages_;
};

}  // namespace inferflux::apps
