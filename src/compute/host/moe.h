// Mixture of experts (MoE) on backends whose matmuls run on the host: each expert is a matrix of the backend.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/params.h"

namespace inferflux::compute::host {

// `parts[e]` are the matrices that are stacked into expert e.
template <class B>
Result<std::vector<typename B::Matrix>> LoadExperts(typename B::Context& context,
                                                    std::span<const std::vector<HostMatrix>> parts) {
  if (parts.empty()) return Fail(ErrorCode::kInvalidArgument, "a mixture of no experts");
  std::vector<typename B::Matrix> experts;
  for (const auto& expert : parts) {
    auto matrix = B::LoadMatrix(context, expert);
    if (!matrix) return Forward(matrix);
    experts.push_back(std::move(*matrix));
  }
  return experts;
}

template <class B>
std::string DescribeExperts(const std::vector<typename B::Matrix>& experts) {
  return fmt::format("{} experts, each {}", experts.size(), B::Describe(experts.front()));
}

}  // namespace inferflux::compute::host
