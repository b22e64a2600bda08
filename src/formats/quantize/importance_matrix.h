// The importance of each column of each matrix, measured on sample text: an "importance matrix" in llama.cpp's GGUF
// format.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "formats/gguf/gguf_file.h"

namespace inferflux::formats {

class ImportanceMatrix {
 public:
  // A file holds, for each matrix, the sums of squared activations ("NAME.in_sum2") and the counts ("NAME.counts").
  static Result<ImportanceMatrix> Open(const std::string& path);
  static Result<ImportanceMatrix> FromGguf(const GgufFile& file);

  // Mean squares: dims[0] values for each of dims[2] experts. Empty if the file has none for the tensor;
  // kInvalidArgument if it has them for another shape.
  Result<std::span<const float>> For(const GgufTensor& tensor) const;
  size_t size() const { return values_.size(); }

 private:
  std::unordered_map<std::string, std::vector<float>> values_;
};

}  // namespace inferflux::formats
