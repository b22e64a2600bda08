// Strings: lengths, patterns, formats, and what `not` excludes of them.
#include <algorithm>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/string_formats.h"
#include "text/grammar/json_schema/types/pattern_texts.h"
#include "text/grammar/regex_parser.h"

namespace inferflux::text {

Result<Expr> SchemaCompiler::String(const Object& schema, const Place& at) {
  const auto min = CountOf(schema, "minLength", at);
  if (!min) return Forward(min);
  const auto max = CountOf(schema, "maxLength", at);
  if (!max) return Forward(max);
  if (min->value_or(0) > max->value_or(kUnbounded)) return Nothing();
  const Value* pattern = schema.if_contains("pattern");
  const Value* format = schema.if_contains("format");
  for (const auto& [keyword, value] : {std::pair("pattern", pattern), std::pair("format", format)}) {
    if (value != nullptr && !value->is_string()) return Wrong(at.At(keyword), "must be a string");
  }
  const StringFormat held_to = format == nullptr ? StringFormat{.known = true} : FindFormat(format->get_string());
  if (!held_to.known) {
    return Wrong(at.At("format"), "the format '{}' is not supported; supported are {}",
                 std::string_view(format->get_string()), KnownFormats());
  }
  if (held_to.pattern.empty()) format = nullptr;
  const bool bounded = *min || *max;
  const Value* never = schema.if_contains("not");
  const Value* others = schema.if_contains(kAllPatterns);
  if (pattern == nullptr && format == nullptr && never == nullptr && others == nullptr) {
    return Placed(json_.String(min->value_or(0), max->value_or(kUnbounded)), at);
  }
  std::vector<Expr> contents;
  std::vector<std::string_view> patterns;
  if (pattern != nullptr) patterns.push_back(pattern->get_string());
  if (others != nullptr && others->is_array()) {
    for (const Value& other : others->get_array()) {
      if (!other.is_string()) return Wrong(at.At("pattern"), "must be a string");
      patterns.push_back(other.get_string());
    }
  }
  for (const std::string_view each : patterns) {
    auto content = ParsePattern(each);
    if (!content) return Wrong(at.At("pattern"), "{}", content.error().message);
    contents.push_back(std::move(*content));
  }
  uint32_t most = max->value_or(kUnbounded);
  if (format != nullptr) {
    // The short form has fewer states, which matters where something else must hold too.
    const bool alone = patterns.empty() && !bounded && never == nullptr;
    const bool is_short = !alone && !held_to.short_pattern.empty() && min->value_or(0) <= kMostOfShortFormat;
    if (is_short) most = std::min(most, kMostOfShortFormat);
    auto content = ParseRegex(is_short ? held_to.short_pattern : held_to.pattern, RegexScope::kWhole);
    if (!content) return Wrong(at.At("format"), "{}", content.error().message);
    contents.push_back(std::move(*content));
  }
  if (contents.size() == 1 && !bounded && never == nullptr) return Placed(json_.Quoted(contents[0]), at);
  auto texts = CharAutomaton::OfLength(min->value_or(0), most);
  for (const Expr& content : contents) {
    if (!texts) break;
    const auto other = CharAutomaton::Of(*content);
    texts = other ? texts->And(*other) : other;
  }
  if (texts && never != nullptr) {
    const auto excluded = TextsUnder(*never, Exactness::kAtLeast, at.At("not"));
    if (!excluded) return Forward(excluded);
    texts = texts->Without(*excluded);
  }
  if (auto charged = Charge(texts, at); !charged) return Forward(charged);
  if (!texts) return Wrong(at, "'pattern', 'format', 'not' and lengths: {}", texts.error().message);
  return Placed(json_.Quoted(*texts), at);
}

}  // namespace inferflux::text
