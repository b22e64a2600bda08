// The processor, and what of it this process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::hardware {

struct Cpu {
  std::string name;                                // "AMD EPYC 9354 32-Core Processor"; empty: unknown
  std::vector<std::string_view> instruction_sets;  // of those that there are kernels for
  int usable_cores = 1;                            // by affinity and control group
  int cores = 1;                                   // of the machine
  std::optional<int64_t> total_bytes = {};         // memory, within the limits of the control group
  std::optional<int64_t> free_bytes = {};
};

Cpu ReadCpu();

}  // namespace inferflux::hardware
