// Any bytes as a GGUF file: an error, or a valid file whose values and tensors can all be read and dequantised.
#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu_limit.h"
#include "formats/gguf/gguf_file.h"
#include "formats/quant/dequantize.h"

namespace {

using namespace inferflux::formats;

void ReadMetadata(const GgufMetadata& metadata) {
  for (const GgufEntry& entry : metadata.entries()) {
    (void)metadata.Get<std::vector<std::string_view>>(entry.key);
    (void)metadata.Get<std::vector<int32_t>>(entry.key);
    (void)metadata.Get<std::vector<float>>(entry.key);
    (void)metadata.Get<std::string>(entry.key);
    (void)metadata.Get<uint8_t>(entry.key);
    (void)metadata.Get<double>(entry.key);
    (void)metadata.Get<bool>(entry.key);
  }
}

void ReadTensors(const GgufFile& file) {
  for (const GgufTensor& tensor : file.tensors()) {
    if (file.FindTensor(tensor.name) != &tensor) __builtin_trap();
    if (tensor.dims[0] > 1 << 16) continue;
    std::vector<float> row(tensor.dims[0]);
    const uint64_t row_bytes = tensor.data.size() / tensor.rows();
    for (uint64_t i = 0; i < std::min<uint64_t>(tensor.rows(), 8); ++i) {
      DequantizeRow(tensor.type, tensor.data.data() + i * row_bytes, row.data(), static_cast<int64_t>(row.size()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  std::vector<uint64_t> aligned((size + 7) / 8);  // aligned like a mapped file
  if (size > 0) std::memcpy(aligned.data(), data, size);
  const auto file = GgufFile::Parse(std::as_bytes(std::span(aligned)).first(size));
  if (!file) return 0;
  ReadMetadata((*file)->metadata());
  ReadTensors(**file);
  return 0;
}
