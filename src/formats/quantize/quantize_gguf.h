// Writes a GGUF model in other types, as a stream: memory use does not grow with the model.
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "formats/gguf/gguf_file.h"
#include "formats/quantize/importance_matrix.h"
#include "formats/quantize/quant_mix.h"

namespace inferflux::formats {

struct QuantizedTensor {
  const GgufTensor* source = nullptr;
  TensorType type = TensorType::kF32;
  uint64_t bytes = 0;
  double rmse = 0.0;  // root of the mean squared error, relative to the source's values
};

struct QuantizeOptions {
  const QuantMix* mix = nullptr;
  const ImportanceMatrix* importance = nullptr;  // may be null
  // The input is a mapped file: its pages are released as soon as they were read.
  bool release_input = false;
};

// Called after each piece, with the finished share of the input's bytes.
using QuantizeProgress = FunctionRef<void(uint64_t done_bytes, uint64_t total_bytes, const GgufTensor& tensor)>;

// Writes all of `file`. Metadata is copied, except for the file type and the keys of a split. A weight that is not
// finite is an error that names the tensor.
Result<std::vector<QuantizedTensor>> QuantizeGguf(const GgufFile& file, std::ostream& out,
                                                  const QuantizeOptions& options, ThreadPool& pool,
                                                  QuantizeProgress progress);

}  // namespace inferflux::formats
