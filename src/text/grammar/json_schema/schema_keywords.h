// The keywords of JSON Schema, of all drafts, and how each is treated.
#pragma once

#include <string_view>

namespace inferflux::text {

// Whether it is an assertion that we enforce.
bool IsHonoured(std::string_view keyword);

// Whether it is an annotation: "title", and any keyword that no draft knows. A keyword that is neither is refused.
bool IsAnnotation(std::string_view keyword);

}  // namespace inferflux::text
