// The steps of a tokenizer.json's normalizer, pre_tokenizer, post_processor or decoder, one after another.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/json/json_object.h"

namespace inferflux::formats {

// The steps under `key`; none if it is null. A Sequence is replaced by its parts, under `list_key`, up to four levels
// deep.
Result<std::vector<JsonObject>> ReadHfSteps(const JsonObject& tokenizer, std::string_view key,
                                            std::string_view list_key);

bool HasHfStep(const std::vector<JsonObject>& steps, std::string_view type);

}  // namespace inferflux::formats
