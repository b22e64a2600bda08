#include "text/grammar/json_schema/schema_keywords.h"

#include <algorithm>

namespace inferflux::text {
namespace {

// clang-format off
constexpr std::string_view kHonoured[] = {
    "type", "enum", "const", "properties", "required", "additionalProperties", "minProperties", "maxProperties",
    "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern",
    "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "anyOf", "oneOf", "allOf", "$ref",
    "nullable", "patternProperties", "propertyNames", "additionalItems", "multipleOf", "not", "if", "then",
    "else", "dependencies", "dependentRequired", "dependentSchemas", "contains", "minContains", "maxContains",
    "unevaluatedProperties", kAllPatterns, kSomeItems, kSomeMembers,
};
constexpr std::string_view kRefusedKeywords[] = {
    "unevaluatedItems", "divisibleBy", "disallow", "extends", "$dynamicRef", "$recursiveRef",
};
// clang-format on

}  // namespace

bool IsHonoured(std::string_view keyword) { return std::ranges::find(kHonoured, keyword) != std::end(kHonoured); }

// The drafts say that unknown keywords are annotations.
bool IsAnnotation(std::string_view keyword) {
  return !IsHonoured(keyword) && std::ranges::find(kRefusedKeywords, keyword) == std::end(kRefusedKeywords);
}

}  // namespace inferflux::text
