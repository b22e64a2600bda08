// Experts stacked in one tensor of [experts, outputs, inputs] for each projection, as ml-explore/mlx-lm writes MoE
// models (its SwitchLinear): the tensor of one expert.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

// The [rows, cols] of one expert of a tensor [experts, rows, cols], a view with the same name. kDataLoss names a tensor
// of another rank, an empty one, or one with too few experts.
Result<SafetensorsTensor> SliceExpert(const SafetensorsTensor& stack, uint64_t expert);

}  // namespace inferflux::formats
