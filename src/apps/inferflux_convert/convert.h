// Converts a Hugging Face directory to one GGUF file.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "formats/quantize/quant_mix.h"

namespace inferflux::apps {

struct ConvertOptions {
  std::string directory;
  // Null: matrices keep the checkpoint's type. Norms, biases and other vectors are always float32.
  const formats::QuantMix* mix = nullptr;
  std::string pre;  // tokenizer.ggml.pre; empty: derived from the tokenizer's rule
};

struct ConvertSummary {
  uint64_t tensors = 0;
  uint64_t weights = 0;
  uint64_t bytes = 0;  // of the tensors, as written
};

using ConvertProgress = FunctionRef<void(uint64_t done_bytes, uint64_t total_bytes, const std::string& tensor)>;

// Streams: memory use does not grow with the model, except for the largest tensor whose values are reordered.
Result<ConvertSummary> Convert(const ConvertOptions& options, std::ostream& out, ThreadPool& pool,
                               ConvertProgress progress);

}  // namespace inferflux::apps
