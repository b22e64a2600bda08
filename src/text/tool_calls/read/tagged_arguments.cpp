#include "text/tool_calls/read/tagged_arguments.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/call_object.h"
#include "text/tool_calls/read/unfinished_bytes.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

bool IsOnlyText(const json::value* schema) {
  return std::ranges::none_of(std::initializer_list<std::string_view>{"null", "boolean", "number", "array", "object"},
                              [&](std::string_view type) { return AllowsType(schema, type); });
}

std::string EscapedPiece(std::string_view text) {
  const std::string quoted = json::serialize(json::value(text));
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

void TaggedArguments::Reset() { names_.clear(); }

std::string TaggedArguments::Begin(std::string_view name, const json::value& parameters) {
  repeated_ = std::ranges::count(names_, name) > 0;
  if (repeated_) return {};
  schema_ = SchemaOfArgument(parameters, name);
  is_text_ = IsOnlyText(schema_);
  sent_ = 0;
  std::string out = (names_.empty() ? "{" : ",") + json::serialize(json::value(name)) + ":";
  names_.emplace_back(name);
  return is_text_ ? out + '"' : out;
}

// Without the line ends around it; of a value that goes on, without what may become one.
std::string_view TaggedArguments::Content(std::string_view value, bool whole) const {
  if (own_lines_ && value.starts_with('\n')) value.remove_prefix(1);
  if (own_lines_ && value.ends_with('\n')) value.remove_suffix(1);
  if (!whole) value.remove_suffix(UnfinishedBytes(value));
  return value;
}

std::string TaggedArguments::Grow(std::string_view value) {
  if (!is_text_ || repeated_) return {};
  const std::string_view content = Content(value, false);
  if (content.size() <= sent_) return {};
  std::string out = EscapedPiece(content.substr(sent_));
  sent_ = content.size();
  return out;
}

std::string TaggedArguments::End(std::string_view value) {
  if (repeated_) return {};
  const std::string_view content = Content(value, true);
  if (is_text_) return EscapedPiece(content.substr(sent_)) + '"';
  return json::serialize(TaggedValue(content, schema_));
}

std::string TaggedArguments::Close() const { return names_.empty() ? "{}" : "}"; }

}  // namespace inferflux::text
