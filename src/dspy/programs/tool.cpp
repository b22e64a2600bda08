#include "dspy/programs/tool.h"

#include <boost/json/array.hpp>

#include "dspy/python/python_format.h"
#include "dspy/signature/json_schema_check.h"

namespace inferflux::dspy {

std::string Tool::Describe() const {
  std::string text = name;
  if (desc.empty()) {
    text += ".";
  } else {
    for (const char c : ", whose description is <desc>" + desc + "</desc>.")
      text += c == '\n' ? "  " : std::string(1, c);
  }
  return text + " It takes arguments " + PythonRepr(args) + ".";
}

ToolSpec Tool::Spec() const {
  boost::json::array required;
  for (const auto& [arg, schema] : args) {
    if (!schema.is_object() || !schema.get_object().contains("default")) required.emplace_back(arg);
  }
  return {name, desc, {{"type", "object"}, {"properties", args}, {"required", std::move(required)}}};
}

Result<boost::json::value> Tool::Call(const Values& arguments) const {
  Values checked;
  for (const auto& [arg, value] : arguments) {
    const auto* schema = args.if_contains(arg);
    if (!schema) return FailAt(arg, Error::kNoPosition, "Arg {} is not in the tool's args.", std::string_view(arg));
    if (!schema->is_object()) {
      checked[arg] = value;
      continue;
    }
    auto converted = ConvertBySchema(schema->get_object(), value);
    if (!converted) {
      return FailAt(arg, Error::kNoPosition, "Arg {} is invalid: {}", std::string_view(arg), converted.error());
    }
    checked[arg] = std::move(*converted);
  }
  for (const auto& [arg, schema] : args) {
    if (checked.contains(arg)) continue;
    const auto* fallback = schema.is_object() ? schema.get_object().if_contains("default") : nullptr;
    if (!fallback) return FailAt(arg, Error::kNoPosition, "Arg {} is missing.", std::string_view(arg));
    checked[arg] = *fallback;
  }
  if (!function) return Fail(ErrorCode::kInvalidConfig, "the tool '{}' has no function", name);
  return function(checked);
}

}  // namespace inferflux::dspy
