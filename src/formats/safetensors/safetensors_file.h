// One safetensors file, mapped and checked completely before use. Source: the format's description in the `safetensors`
// project: 8 bytes of header length, a JSON header, tensor data.
//
// The checks guarantee: each tensor's data has exactly the size of its type and shape, and the tensors cover the data
// section once, without overlap or gap.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "formats/safetensors/safetensors_dtype.h"

namespace inferflux::formats {

struct SafetensorsTensor {
  std::string name;
  SafetensorsDtype dtype = SafetensorsDtype::kF32;
  // Slowest-varying first, as in PyTorch (the reverse of a GGUF shape): a weight with `rows` outputs and `columns`
  // inputs is {rows, columns}. Empty for a scalar; a dimension may be 0.
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;  // unaligned

  uint64_t elements() const;
};

class SafetensorsFile {
 public:
  static Result<std::shared_ptr<const SafetensorsFile>> Open(const std::string& path);
  // `bytes` must outlive the result. `source` names it in errors.
  static Result<std::shared_ptr<const SafetensorsFile>> Parse(std::span<const std::byte> bytes, std::string source);

  const std::string& source() const { return source_; }
  std::span<const SafetensorsTensor> tensors() const { return tensors_; }  // in the order of the file
  const SafetensorsTensor* FindTensor(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }  // "__metadata__"

 private:
  SafetensorsFile() = default;
  Status ReadHeader(std::string_view header, std::span<const std::byte> data);

  std::shared_ptr<const MappedFile> mapping_;
  std::string source_;
  std::vector<SafetensorsTensor> tensors_;
  std::unordered_map<std::string_view, size_t> index_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace inferflux::formats
