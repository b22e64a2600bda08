// Weights in device memory, for matrices and for experts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compute/cuda/cuda_backend.h"

namespace inferflux::compute::cuda_ops {

// Stacks matrices that passed host::CheckParts; neighbours of one stored type become one part.
Result<std::vector<Cuda::WeightPart>> LoadParts(Cuda::Context& context, std::span<const HostMatrix> parts);

// The same as one part: as FP16 if the types differ.
Result<Cuda::WeightPart> LoadAsOne(Cuda::Context& context, std::span<const HostMatrix> parts);

// "as Q4_K+Q6_K; up to 32 rows as they are, more by cuBLASLt"
std::string DescribeParts(std::span<const Cuda::WeightPart> parts);

}  // namespace inferflux::compute::cuda_ops
