// What a block and a grid may have (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
#pragma once

#include <cstdint>
#include <optional>

namespace inferflux::cuda::executor {

struct Limits {
  int compute_capability = 90;
  int64_t shared_bytes = 227 * 1024;  // of a block, with the opt-in
  static constexpr int64_t kThreads = 1024;
  static constexpr int64_t kBlockX = 1024, kBlockY = 1024, kBlockZ = 64;
  static constexpr int64_t kArgumentBytes = 32764;  // of a kernel's parameters
  static constexpr int64_t kGridX = 2147483647, kGridY = 65535, kGridZ = 65535;
};

// Of 80, 86, 89, 90, 100 or 120.
constexpr std::optional<Limits> LimitsOf(int compute_capability) {
  switch (compute_capability) {
    case 80:
      return Limits{80, 163 * 1024};
    case 86:
    case 89:
    case 120:
      return Limits{compute_capability, 99 * 1024};
    case 90:
    case 100:
      return Limits{compute_capability, 227 * 1024};
    default:
      return std::nullopt;
  }
}

}  // namespace inferflux::cuda::executor
