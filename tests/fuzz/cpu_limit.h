// Fails a harness on an input that takes too much processor time, as a crash would: the fuzzer keeps the input. Clocks
// of the thread, so that a busy machine fails nothing.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "base/work_budget/work_budget.h"

namespace inferflux::fuzz {

class CpuLimit {
 public:
  // What no input of a fuzzer's usual size may take, with the sanitizers: hundreds of times what most do.
  static constexpr std::chrono::seconds kLimit{10};

  CpuLimit() : began_(ThreadCpuTime()) {}
  ~CpuLimit() {
    const auto used = ThreadCpuTime() - began_;
    if (used <= kLimit) return;
    std::fprintf(stderr, "the input took %.1f s of processor time; the limit is %lld s\n",
                 std::chrono::duration<double>(used).count(), static_cast<long long>(kLimit.count()));
    std::abort();
  }
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

 private:
  const std::chrono::nanoseconds began_;
};

}  // namespace inferflux::fuzz
