#include "formats/quantized_checkpoints/tensor_checks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "formats/printable.h"

namespace inferflux::formats {

Status CheckKind(const SafetensorsTensor& tensor, std::initializer_list<SafetensorsDtype> dtypes, size_t rank) {
  if (std::find(dtypes.begin(), dtypes.end(), tensor.dtype) != dtypes.end() && tensor.shape.size() == rank &&
      tensor.elements() > 0) {
    return {};
  }
  std::vector<std::string_view> names;
  for (const SafetensorsDtype dtype : dtypes) names.push_back(Traits(dtype).name);
  return Fail(ErrorCode::kDataLoss, "tensor '{}' is {} [{}], but should be {} of {} dimensions, not empty",
              Printable(tensor.name), Traits(tensor.dtype).name, fmt::join(tensor.shape, ", "),
              fmt::join(names, " or "), rank);
}

Status CheckShape(const SafetensorsTensor& tensor, std::initializer_list<uint64_t> shape,
                  const SafetensorsTensor& belongs_to) {
  if (std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(), shape.end())) return {};
  return Fail(ErrorCode::kDataLoss, "tensor '{}' is [{}], but '{}' of [{}] and the configuration make it [{}]",
              Printable(tensor.name), fmt::join(tensor.shape, ", "), Printable(belongs_to.name),
              fmt::join(belongs_to.shape, ", "), fmt::join(shape, ", "));
}

Result<std::vector<float>> ReadScaleTensor(const SafetensorsTensor& scales) {
  using Dtype = SafetensorsDtype;
  if (scales.dtype != Dtype::kF16 && scales.dtype != Dtype::kBf16 && scales.dtype != Dtype::kF32) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' holds {}, but scales are F16, BF16 or F32", Printable(scales.name),
                Traits(scales.dtype).name);
  }
  std::vector<float> values(scales.elements());
  ToFloats(scales.dtype, scales.data.data(), values.data(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      return Fail(ErrorCode::kDataLoss, "tensor '{}': value {} is not finite", Printable(scales.name), i);
  }
  return values;
}

}  // namespace inferflux::formats
