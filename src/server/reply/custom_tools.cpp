#include "server/reply/custom_tools.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "server/request/fields.h"
#include "text/grammar/gbnf_parser.h"
#include "text/grammar/lark_parser.h"
#include "text/grammar/regex_parser.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

struct CustomFormat {
  std::string type;
  std::string syntax;
  std::string definition;
};

ApiStatus TakeCustomGrammar(const json::value& value, std::string_view param, CustomFormat& out) {
  static constexpr Field<CustomFormat> kFields[] = {
      {"syntax", TextField<CustomFormat>{&CustomFormat::syntax, 64}},
      {"definition", TextField<CustomFormat>{&CustomFormat::definition, text::kMaxGrammarBytes}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return ParseObject<CustomFormat>(kFields, param, **object, out);
}

// An expression for the whole text, as a schema's `pattern`.
std::string WholePattern(std::string_view pattern) {
  if (pattern.starts_with('^')) pattern.remove_prefix(1);
  if (pattern.ends_with('$') && !pattern.ends_with("\\$")) pattern.remove_suffix(1);
  return fmt::format("^(?:{})$", pattern);
}

json::object InputSchema(const CustomTool& tool) {
  json::object input;
  input["type"] = "string";
  if (tool.syntax == "regex") input["pattern"] = WholePattern(tool.definition);
  json::object out;
  out["type"] = "object";
  out["properties"] = json::object{{text::kCustomInput, std::move(input)}};
  out["required"] = json::array{json::value(text::kCustomInput)};
  out["additionalProperties"] = false;
  return out;
}

std::string DescriptionOfCustom(const CustomTool& tool) {
  if (tool.syntax.empty()) return tool.description;
  const std::string_view kind = tool.syntax == "lark" ? "grammar, in Lark's notation" : "regular expression";
  return fmt::format("{}{}The input must match this {}:\n{}", tool.description, tool.description.empty() ? "" : "\n\n",
                     kind, tool.definition);
}

}  // namespace

ApiStatus ReadCustomFormat(const json::value& value, std::string_view param, CustomTool& out) {
  static constexpr Field<CustomFormat> kFields[] = {
      {"type", TextField<CustomFormat>{&CustomFormat::type, 64}},
      {"syntax", TextField<CustomFormat>{&CustomFormat::syntax, 64}},
      {"definition", TextField<CustomFormat>{&CustomFormat::definition, text::kMaxGrammarBytes}},
      {"grammar", CustomField<CustomFormat>{TakeCustomGrammar}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  CustomFormat format;
  if (ApiStatus taken = ParseObject<CustomFormat>(kFields, param, **object, format); !taken) return taken;
  if (format.type == "text") return {};
  if (format.type != "grammar") return Refuse(Join(param, "type"), "must be \"text\" or \"grammar\"");
  const std::string inner = (*object)->contains("grammar") ? Join(param, "grammar") : std::string(param);
  if (format.syntax != "lark" && format.syntax != "regex") {
    return Refuse(Join(inner, "syntax"), "must be \"lark\" or \"regex\"");
  }
  if (format.definition.empty()) return Refuse(Join(inner, "definition"), "is missing");
  const bool lark = format.syntax == "lark";
  const std::string definition = Join(inner, "definition");
  if (lark) {
    if (const auto parsed = text::ParseLark(format.definition); !parsed) {
      return Refuse(definition, "cannot be used: {}", parsed.error().message);
    }
  } else if (const auto parsed = text::ParseRegex(WholePattern(format.definition), text::RegexScope::kSearch);
             !parsed) {
    return Refuse(definition, "cannot be used: {}", parsed.error().message);
  }
  out.syntax = std::move(format.syntax);
  out.definition = std::move(format.definition);
  return {};
}

serving::OfferedFunction FunctionOfCustom(const CustomTool& tool) {
  serving::OfferedFunction out;
  out.name = tool.name;
  out.description = DescriptionOfCustom(tool);
  out.parameters = json::serialize(InputSchema(tool));
  out.strict = !tool.syntax.empty();
  out.custom = true;
  if (tool.syntax == "lark") out.lark = tool.definition;
  return out;
}

json::object TemplateToolOfCustom(const CustomTool& tool) {
  json::object function;
  function["name"] = tool.name;
  if (const std::string description = DescriptionOfCustom(tool); !description.empty()) {
    function["description"] = description;
  }
  function["parameters"] = InputSchema(tool);
  json::object out;
  out["type"] = "function";
  out["function"] = std::move(function);
  return out;
}

json::object ArgumentsOfCustom(std::string_view input) { return {{text::kCustomInput, input}}; }

std::vector<std::string> CustomNames(const std::vector<serving::OfferedFunction>& functions) {
  std::vector<std::string> out;
  for (const auto& function : functions) {
    if (function.custom) out.push_back(function.name);
  }
  return out;
}

}  // namespace inferflux::server
