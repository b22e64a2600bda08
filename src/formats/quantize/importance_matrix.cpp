#include "formats/quantize/importance_matrix.h"

#include <algorithm>
#include <cmath>

#include "formats/printable.h"
#include "formats/quant/dequantize.h"

namespace inferflux::formats {
namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";

std::vector<float> ReadFloats(const GgufTensor& tensor) {
  std::vector<float> values(tensor.elements());
  DequantizeRow(tensor.type, tensor.data.data(), values.data(), static_cast<int64_t>(values.size()));
  return values;
}

}  // namespace

Result<ImportanceMatrix> ImportanceMatrix::Open(const std::string& path) {
  const auto file = GgufFile::Open(path);
  if (!file) {
    return Fail(file.error().code, "{} (an importance matrix in the old .dat format must be regenerated as GGUF)",
                file.error().message);
  }
  return FromGguf(**file);
}

Result<ImportanceMatrix> ImportanceMatrix::FromGguf(const GgufFile& file) {
  ImportanceMatrix matrix;
  for (const GgufTensor& sums : file.tensors()) {
    if (!sums.name.ends_with(kSums)) continue;
    const std::string name(sums.name.substr(0, sums.name.size() - kSums.size()));
    const auto counts = file.Tensor(name + std::string(kCounts));
    if (!counts) return Forward(counts);
    std::vector<float> values = ReadFloats(sums);
    const std::vector<float> divisors = ReadFloats(**counts);
    if (divisors.empty() || values.size() % divisors.size() != 0) {
      return Fail(ErrorCode::kDataLoss, "{}: '{}' has {} sums, but {} counts", file.metadata().source(),
                  Printable(name), values.size(), divisors.size());
    }
    const size_t columns = values.size() / divisors.size();
    for (size_t i = 0; i < values.size(); ++i) {
      const float count = divisors[i / columns];
      values[i] = count > 0.0f ? values[i] / count : 0.0f;  // no sample reached this expert
      if (!std::isfinite(values[i]) || values[i] < 0.0f) {
        return Fail(ErrorCode::kDataLoss, "{}: '{}' has an importance of {}", file.metadata().source(), Printable(name),
                    values[i]);
      }
    }
    matrix.values_.emplace(name, std::move(values));
  }
  if (matrix.values_.empty()) {
    return Fail(ErrorCode::kDataLoss, "{}: it holds no importance ('NAME.in_sum2' tensors)", file.metadata().source());
  }
  return matrix;
}

Result<std::span<const float>> ImportanceMatrix::For(const GgufTensor& tensor) const {
  const auto it = values_.find(std::string(tensor.name));
  if (it == values_.end()) return std::span<const float>();
  const uint64_t wanted = tensor.dims[0] * tensor.dims[2];
  if (it->second.size() != wanted) {
    return Fail(ErrorCode::kInvalidArgument,
                "the importance matrix has {} values for tensor '{}', which needs {}: it was made from another model",
                it->second.size(), Printable(tensor.name), wanted);
  }
  return std::span<const float>(it->second);
}

}  // namespace inferflux::formats
