// The checks that every backend makes on the parts of a weight matrix before it uses them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "compute/params.h"

namespace inferflux::compute::host {

// At least one part; each has a type that can be decoded and as many bytes as its shape takes; all have the same number
// of inputs.
Status CheckParts(std::span<const HostMatrix> parts);

// Bytes of one row of a part that passed CheckParts and has data.
int64_t RowBytesOf(const HostMatrix& part);

// Decodes one row, from any layout except affine groups.
void ReadRow(const HostMatrix& part, int64_t row, float* out);

// Bytes of everything that is stored for the part.
int64_t StoredBytesOf(const HostMatrix& part);

// "Q4_K+Q4_K+Q6_K"
std::string TypesOf(std::span<const HostMatrix> parts);

}  // namespace inferflux::compute::host
