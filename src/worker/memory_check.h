// Whether a model fits into memory, before anything is loaded or started.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace inferflux::worker {

// The bytes of the weights in a model's files: a GGUF file with all its parts, or the weight files of a directory.
Result<int64_t> WeightBytes(const std::string& path);

// What the weights, `kv_bytes` and a tenth more take.
int64_t NeededBytes(int64_t weight_bytes, int64_t kv_bytes);

// kResourceExhausted with both figures if that is more than `available`.
Status CheckMemory(int64_t weight_bytes, int64_t kv_bytes, int64_t available, const std::string& where);

}  // namespace inferflux::worker
