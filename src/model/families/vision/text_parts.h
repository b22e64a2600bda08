// Models of several parts, whose text model is stored beside one that sees or hears. The text model runs by itself.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/json/json_object.h"

namespace inferflux::model {

// The model_type of the text model: text_config's, its default if that has none, or the file's own if there is no
// text_config; empty if the file has none. kUnsupported names a model of several parts whose text model is not known to
// be one of the families, alone.
Result<std::string> TextModelType(const formats::JsonObject& root);

// Whether a tensor, by its name without the text model's prefix, is of a part that sees or hears.
bool IsOfOtherPart(std::string_view name);

}  // namespace inferflux::model
