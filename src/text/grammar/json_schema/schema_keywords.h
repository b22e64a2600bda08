// The keywords of JSON Schema, of all its drafts: what is done with each.
#pragma once

#include <string_view>

namespace inferflux::text {

// Whether it says what is valid, and is honoured.
bool IsHonoured(std::string_view keyword);

// Whether it says nothing about what is valid: "title", and any that no draft knows. One that is neither is refused.
bool IsAnnotation(std::string_view keyword);

}  // namespace inferflux::text
