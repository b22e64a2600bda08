// The keywords of JSON Schema, of all drafts, and how each is treated.
#pragma once

#include <string_view>

namespace inferflux::text {

// Keywords of our own, which rewritten schemas have.
inline constexpr std::string_view kAllPatterns = "\x01patterns";  // a list: a string matches each of them
inline constexpr std::string_view kSomeItems = "\x01items";       // a list of schemas: an array has an item for each
// A list of {"names": a schema of names, "value": a schema}: an object has such a member for each.
inline constexpr std::string_view kSomeMembers = "\x01members";

// Whether it is an assertion that we enforce.
bool IsHonoured(std::string_view keyword);

// Whether it is an annotation: "title", and any keyword that no draft knows. A keyword that is neither is refused.
bool IsAnnotation(std::string_view keyword);

}  // namespace inferflux::text
