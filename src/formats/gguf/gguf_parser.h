// The bytes of one GGUF file as checked metadata and tensors.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/gguf/gguf_file.h"

namespace inferflux::formats {

struct GgufContents {
  uint32_t version = 0;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  // in the file's order; names may still be duplicates
};

// Errors begin with `source`.
Result<GgufContents> ParseGguf(std::span<const std::byte> bytes, const std::string& source);

}  // namespace inferflux::formats
