#include "formats/quantized_checkpoints/stacked_experts.h"

#include "formats/quantized_checkpoints/tensor_checks.h"

namespace inferflux::formats {

Result<SafetensorsTensor> SliceExpert(const SafetensorsTensor& stack, uint64_t expert) {
  if (auto checked = CheckKind(stack, {stack.dtype}, 3); !checked) return Forward(checked);
  const uint64_t experts = stack.shape[0], bytes = stack.data.size() / experts;
  if (expert >= experts) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} experts, but expert {} is needed", stack.name, experts,
                expert);
  }
  return SafetensorsTensor{.name = stack.name,
                           .dtype = stack.dtype,
                           .shape = {stack.shape[1], stack.shape[2]},
                           .data = stack.data.subspan(expert * bytes, bytes)};
}

}  // namespace inferflux::formats
