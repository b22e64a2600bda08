// Numbers of a model's metadata, each checked against a plausible range.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/result.h"
#include "model/loading/model_source.h"

namespace inferflux::model {

struct Size {
  const char* key;  // under the architecture's prefix
  int32_t* value;   // unchanged if the key is absent and not required
  int32_t limit;
  bool required;
};

// Each number must be between 1 and its limit. An error names file, key and limit.
Status ReadSizes(const ModelSource& source, const std::string& prefix, std::initializer_list<Size> sizes);

// `fallback` if the key is absent; an error if the number is not between `least` and `most`.
Result<float> ReadNumber(const ModelSource& source, const std::string& key, float fallback, float least, float most);

}  // namespace inferflux::model
