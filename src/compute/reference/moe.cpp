#include <algorithm>

#include "compute/host/moe.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

Result<Reference::Experts> Reference::LoadExperts(Context& context, std::span<const std::vector<HostMatrix>> parts) {
  return host::LoadExperts<Reference>(context, parts);
}

std::string Reference::DescribeExperts(const Experts& experts) { return host::DescribeExperts<Reference>(experts); }

host::Buffer Reference::ExpertMatMul(Context& context, View x, const Experts& experts, const Routing& routing) {
  Buffer out = context.arena.Allocate(routing.lines(), experts.front().rows);
  for (int64_t l = 0; l < out.rows(); ++l) {
    const View row{x.row(routing.source(x, l)), 1, x.cols, x.stride};
    const Buffer product = MatMul(context, row, experts[static_cast<size_t>(routing.experts[l])]);
    std::copy_n(View(product).data, out.cols(), out.row(l));
  }
  return out;
}

}  // namespace inferflux::compute
