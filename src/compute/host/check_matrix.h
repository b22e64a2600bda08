// What every backend asks of the parts of a weight matrix before it touches them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "compute/params.h"

namespace inferflux::compute::host {

// At least one part; each of a type that can be decoded, as many bytes as its shape takes, and the same number of
// inputs.
Status CheckParts(std::span<const HostMatrix> parts);

// Bytes of one row of a part that CheckParts let pass, and that has data.
int64_t RowBytesOf(const HostMatrix& part);

// One row's values, in whichever form the part has them, but for affine groups.
void ReadRow(const HostMatrix& part, int64_t row, float* out);

// Bytes of all its numbers.
int64_t StoredBytesOf(const HostMatrix& part);

// "Q4_K+Q4_K+Q6_K"
std::string TypesOf(std::span<const HostMatrix> parts);

}  // namespace inferflux::compute::host
