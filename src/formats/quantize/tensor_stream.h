// Converts one tensor to another type, piece by piece, into a file that is being written.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"

namespace inferflux::formats {

// Reports that the first `bytes` of the source are written.
using PieceDone = FunctionRef<void(uint64_t bytes)>;

// Writes all of `tensor` as `type`, which must be its own type or one that CanQuantize, with rows of whole blocks.
// `importance`: empty, or dims[0] weights for each of dims[2] experts. Returns the root of the mean squared error. A
// value that is not finite is an error that names the tensor.
Result<double> StreamTensor(const GgufTensor& tensor, TensorType type, std::span<const float> importance,
                            GgufWriter& writer, ThreadPool& pool, PieceDone done);

// Releases the pages that are entirely inside `bytes`, a part of a mapped file. They are loaded again when they are
// touched.
void ReleasePages(std::span<const std::byte> bytes);

}  // namespace inferflux::formats
