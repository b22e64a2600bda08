// RoPE of models that see images: sections of a head's pairs for a token's time, row and column, which are equal in
// text.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

// Reads mrope_section, or takes `fallback`: GGUF files have the sections, although only images need them. The type
// "mrope" of older files is the plain rotation.
inline Status ReadRopeSections(formats::HfConfig& config, std::vector<int32_t> fallback) {
  config.rope_sections = std::move(fallback);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto rope = config.raw.Find<formats::JsonObject>(key);
    if (!rope) return Forward(rope);
    if (!*rope) continue;
    auto sections = (*rope)->Find<std::vector<int32_t>>("mrope_section");
    if (!sections) return Forward(sections);
    if (*sections) config.rope_sections = std::move(**sections);
    break;
  }
  if (config.rope_sections.size() > 4) {
    return Fail(ErrorCode::kDataLoss, "{}: mrope_section has {} sections; at most 4 are read", config.raw.source(),
                config.rope_sections.size());
  }
  config.rope_sections.resize(4);
  if (config.rope_scaling && config.rope_scaling->type == "mrope") config.rope_scaling.reset();
  return {};
}

}  // namespace inferflux::model
