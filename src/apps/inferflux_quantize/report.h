// Prints what a quantisation did.
#pragma once

#include <vector>

#include "formats/quantize/quantize_gguf.h"

namespace inferflux::apps {

// One line for each tensor: name, shape, types, error.
void PrintTensors(const std::vector<formats::QuantizedTensor>& tensors);

// Sizes, bits per weight, tensors by type, seconds.
void PrintSummary(const std::vector<formats::QuantizedTensor>& tensors, double seconds);

}  // namespace inferflux::apps
