// For Checkpoint::prepare: what a family's config.json leaves out, and settings of it that are not computed.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

template <class T>
void SetDefault(std::optional<T>& value, T fallback) {
  if (!value) value = fallback;
}

// For families whose heads have a width of their own where config.json gives none.
inline void SetDefaultHeadDim(formats::HfConfig& config, uint32_t fallback) {
  if (config.raw.FindValue("head_dim") == nullptr) config.head_dim = fallback;
}

// kUnsupported if one of the keys is true.
inline Status RefuseTrue(const formats::HfConfig& config, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const auto value = config.raw.GetOr<bool>(key, false);
    if (!value) return Forward(value);
    if (*value)
      return Fail(ErrorCode::kUnsupported, "{}: {} is true; only false is supported", config.raw.source(), key);
  }
  return {};
}

}  // namespace inferflux::model
