#include "model/families/metadata_numbers.h"

namespace inferflux::model {

Status ReadSizes(const ModelSource& source, const std::string& prefix, std::initializer_list<Size> sizes) {
  for (const Size& size : sizes) {
    const std::string key = prefix + size.key;
    if (!size.required && !source.metadata().Contains(key)) continue;
    const auto value = source.metadata().Get<int64_t>(key);
    if (!value) return Forward(value);
    if (*value < 1 || *value > size.limit) {
      return Fail(ErrorCode::kDataLoss, "{}: {} is {}, which is not between 1 and {}", source.path(), key, *value,
                  size.limit);
    }
    *size.value = static_cast<int32_t>(*value);
  }
  return {};
}

Result<float> ReadNumber(const ModelSource& source, const std::string& key, float fallback, float least, float most) {
  auto value = source.metadata().GetOr<float>(key, fallback);
  if (!value) return value;
  if (!(*value >= least && *value <= most)) {
    return Fail(ErrorCode::kDataLoss, "{}: {} is {}, which is not between {} and {}", source.path(), key, *value, least,
                most);
  }
  return value;
}

}  // namespace inferflux::model
