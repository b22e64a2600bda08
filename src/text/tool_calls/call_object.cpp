#include "text/tool_calls/call_object.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "text/tool_calls/argument_schema.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

// Some templates write these values as Python prints them, and so do their models.
std::string_view FromPython(std::string_view text) {
  if (text == "True") return "true";
  if (text == "False") return "false";
  return text == "None" ? "null" : text;
}

}  // namespace

std::optional<FoundToolCall> CallOf(const ToolCallSyntax& syntax, const json::object& object) {
  if (syntax.name_key.empty()) {
    if (object.size() != 1 || !object.begin()->value().is_object()) return std::nullopt;
    return FoundToolCall{std::string(object.begin()->key()), json::serialize(object.begin()->value())};
  }
  const json::value* name = object.if_contains(syntax.name_key);
  const json::value* arguments = object.if_contains(syntax.arguments_key);
  if (name == nullptr || !name->is_string() || name->get_string().empty()) return std::nullopt;
  if (arguments != nullptr && !arguments->is_object()) return std::nullopt;
  return FoundToolCall{std::string(name->get_string()), arguments == nullptr ? "{}" : json::serialize(*arguments)};
}

json::value TaggedValue(std::string_view text, const json::value* schema) {
  boost::system::error_code error;
  json::value value = json::parse(FromPython(text), error);
  if (error || value.is_string() || !AllowsType(schema, TypeName(value))) return json::value(text);
  return value;
}

}  // namespace inferflux::text
