// A model on disk: its metadata under GGUF's keys and its tensors under GGUF's names, whatever format holds them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "compute/params.h"
#include "formats/gguf/gguf_file.h"

namespace inferflux::model {

class ModelSource {
 public:
  // Maps the file; tensors are read as they are touched. Errors name the file.
  static Result<std::shared_ptr<const ModelSource>> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const formats::GgufMetadata& metadata() const { return file_->metadata(); }

  // Null where the model has no such tensor. A vector is a matrix of one row.
  const compute::HostMatrix* Find(std::string_view name) const;

  // The same, checked: kNotFound where it is missing, kDataLoss where its shape is not [rows, cols]; both name the tensor.
  Result<compute::HostMatrix> Matrix(std::string_view name, int64_t rows, int64_t cols) const;

  // Slice `expert` of a tensor of [experts, rows, cols], checked in the same way.
  Result<compute::HostMatrix> Expert(std::string_view name, int32_t expert, int32_t experts, int64_t rows,
                                     int64_t cols) const;

  // Dequantised, and checked in the same way.
  Result<std::vector<float>> Values(std::string_view name, int64_t rows, int64_t cols) const;
  Result<std::vector<float>> Vector(std::string_view name, int64_t size) const { return Values(name, 1, size); }

  int64_t parameters() const;
  std::string commonest_type() const;  // of the matrices, by number of weights: "BF16", "Q4_K", ...

 private:
  ModelSource(std::string path, std::shared_ptr<const formats::GgufFile> file);

  std::string path_;
  std::shared_ptr<const formats::GgufFile> file_;
  std::unordered_map<std::string_view, compute::HostMatrix> tensors_;
};

}  // namespace inferflux::model
