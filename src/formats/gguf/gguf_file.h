// A GGUF model file (versions 2 and 3, little-endian), mapped and checked completely before use.
//
// The checks guarantee: every metadata value and every tensor's data is inside the file; keys and tensor names are
// distinct; tensors do not overlap, start at multiples of the file's alignment (at least 8 bytes), have 1 to 4
// dimensions (none zero), and rows that are whole blocks of their type. A file that breaks a rule gives one error that
// names the rule and the byte. Memory use is bounded by the file's size, whatever its counts claim.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "formats/gguf/gguf_metadata.h"
#include "formats/tensor_type.h"

namespace inferflux::formats {

inline constexpr uint32_t kGgufMaxDims = 4;

struct GgufTensor {
  std::string_view name;
  TensorType type = TensorType::kF32;
  // Fastest-varying first, as in GGUF: a weight with `rows` outputs and `columns` inputs is {columns, rows}; a row of
  // dims[0] elements is contiguous. Dimensions beyond the rank are 1.
  std::array<uint64_t, kGgufMaxDims> dims{1, 1, 1, 1};
  uint32_t rank = 1;
  std::span<const std::byte> data;

  std::span<const uint64_t> shape() const { return {dims.data(), rank}; }
  uint64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  uint64_t rows() const { return dims[1] * dims[2] * dims[3]; }
};

class GgufFile {
 public:
  // `path` may be the first part of a split model, "NAME-00001-of-0000N.gguf". The other parts are opened beside it,
  // and all tensors appear in one list. The metadata is that of the first part.
  static Result<std::shared_ptr<const GgufFile>> Open(const std::string& path);

  // One unsplit file in memory, 8-byte aligned. `bytes` must outlive the result. `source` names it in errors.
  static Result<std::shared_ptr<const GgufFile>> Parse(std::span<const std::byte> bytes, std::string source = "GGUF");

  uint32_t version() const { return version_; }
  const GgufMetadata& metadata() const { return metadata_; }
  std::span<const GgufTensor> tensors() const { return tensors_; }
  const GgufTensor* FindTensor(std::string_view name) const;
  // The same, but kNotFound with the names of file and tensor.
  Result<const GgufTensor*> Tensor(std::string_view name) const;

 private:
  GgufFile() = default;
  Status AddTensors(const std::string& source, std::vector<GgufTensor> tensors);
  Status OpenSplits(const std::string& path);

  std::vector<std::shared_ptr<const MappedFile>> mappings_;
  uint32_t version_ = 0;
  GgufMetadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, size_t> index_;
};

}  // namespace inferflux::formats
