// Writes a GGUF version 3 file as a stream: metadata and tensor descriptions first, then the tensors' data in the same
// order, in pieces of any size. Memory use does not depend on the size of the data.
//
//   GgufWriter writer(stream);
//   writer.Set("general.architecture", "llama");
//   writer.AddTensor("token_embd.weight", TensorType::kF16, {{hidden, vocab}});
//   writer.WriteHeader();
//   writer.WriteData(bytes);   // as often as needed
//   writer.Finish();
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/tensor_type.h"

namespace inferflux::formats {

// Its metadata are set as a GgufMetadataBuilder's are.
class GgufWriter : public GgufMetadataBuilder {
 public:
  // `out` must be binary, and outlive the writer.
  explicit GgufWriter(std::ostream& out, uint32_t alignment = 32);

  // `dims`: 1 to 4, the fastest first. A name that was added before, or a shape that no file can hold, is an error.
  Status AddTensor(std::string_view name, TensorType type, std::span<const uint64_t> dims);

  // Afterwards nothing can be set or added.
  Status WriteHeader();
  // The next bytes of the current tensor, or of several; the writer adds the padding between tensors.
  Status WriteData(std::span<const std::byte> bytes);
  // kInvalidArgument if data is missing; kIo if the stream failed.
  Status Finish();

 private:
  struct Tensor {
    std::string name;
    TensorType type;
    std::vector<uint64_t> dims;
    uint64_t bytes;
    uint64_t offset;
  };

  void Pad(uint64_t written);

  std::ostream& out_;
  uint32_t alignment_;
  std::vector<Tensor> tensors_;
  std::unordered_set<std::string> names_;
  uint64_t data_bytes_ = 0;     // of the whole data section, once all is written
  size_t current_ = 0;          // the current tensor
  uint64_t current_bytes_ = 0;  // bytes of it that are written
};

}  // namespace inferflux::formats
