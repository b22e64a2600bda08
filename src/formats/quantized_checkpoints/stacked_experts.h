// Experts whose weights a checkpoint stacks, one tensor of [experts, outputs, inputs] a projection, as
// ml-explore/mlx-lm writes mixtures (its SwitchLinear): the tensor of one of them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

// [rows, cols] of a tensor of [experts, rows, cols], a view under the same name. kDataLoss names a tensor of another
// rank, an empty one, and one of too few experts.
Result<SafetensorsTensor> SliceExpert(const SafetensorsTensor& stack, uint64_t expert);

}  // namespace inferflux::formats
