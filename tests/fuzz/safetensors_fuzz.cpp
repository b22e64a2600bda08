// Any bytes as a safetensors file: an error, or tensors whose values can all be read.
#include <vector>

#include "cpu_limit.h"
#include "formats/safetensors/safetensors_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  using namespace inferflux::formats;
  const auto file = SafetensorsFile::Parse(std::as_bytes(std::span(data, size)), "fuzz");
  if (!file) return 0;
  for (const SafetensorsTensor& tensor : (*file)->tensors()) {
    if ((*file)->FindTensor(tensor.name) != &tensor) __builtin_trap();
    std::vector<float> values(tensor.elements());
    ToFloats(tensor.dtype, tensor.data.data(), values.data(), static_cast<int64_t>(values.size()));
  }
  return 0;
}
