#include "server/responses/responses_request.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "server/reply/custom_tools.h"
#include "server/request/fields.h"
#include "server/request/sampling_fields.h"
#include "serving/generation/tool_use.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using serving::OfferedFunction;
using serving::ToolChoice;
using Type = IgnoredField::Type;
using Fields = ResponsesRequest;

constexpr size_t kAnyResponsesText = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr size_t kMostResponsesTools = 128;

ApiStatus TakeResponsesInput(const json::value& value, std::string_view param, Fields& out) {
  out.has_input = true;
  return ReadInputItems(value, param).map([&](InputItems input) { out.input = std::move(input); });
}

ApiStatus TakeMaxOutput(const json::value& value, std::string_view param, Fields& out) {
  const auto count = ReadInteger(value, param, 1, std::numeric_limits<int64_t>::max());
  if (!count) return Forward(count);
  out.max_tokens = static_cast<int32_t>(std::min<int64_t>(*count, 1 << 24));
  return {};
}

ApiStatus TakeConversation(const json::value& value, std::string_view param, Fields& out) {
  struct Reference {
    std::string id;
  };
  static constexpr Field<Reference> kFields[] = {{"id", TextField<Reference>{&Reference::id, 256}}};
  Reference reference;
  if (value.is_string()) {
    reference.id = value.get_string();
  } else {
    const auto object = ReadObject(value, param);
    if (!object) return Forward(object);
    if (ApiStatus taken = ParseObject<Reference>(kFields, param, **object, reference); !taken) return taken;
  }
  if (reference.id.empty()) return Refuse(param, "must be the id of a conversation");
  out.conversation = std::move(reference.id);
  return {};
}

// --- tools ---

struct ResponsesTool {
  std::string type;
  OfferedFunction function;
  json::value parameters;
  CustomTool custom;  // of the type "custom"
  json::value format = json::object{{"type", "text"}};
};

ApiStatus TakeResponsesToolName(const json::value& value, std::string_view param, ResponsesTool& out) {
  return ReadText(value, param, 128).map([&](std::string name) { out.function.name = std::move(name); });
}

ApiStatus TakeResponsesToolText(const json::value& value, std::string_view param, ResponsesTool& out) {
  return ReadText(value, param, kAnyResponsesText).map([&](std::string text) {
    out.function.description = std::move(text);
  });
}

ApiStatus TakeResponsesParameters(const json::value& value, std::string_view param, ResponsesTool& out) {
  return ReadObject(value, param).map([&](const json::object* schema) {
    out.parameters = *schema;
    out.function.parameters = json::serialize(*schema);
  });
}

ApiStatus TakeResponsesStrict(const json::value& value, std::string_view param, ResponsesTool& out) {
  return ReadBoolean(value, param).map([&](bool strict) { out.function.strict = strict; });
}

ApiStatus TakeResponsesFormat(const json::value& value, std::string_view param, ResponsesTool& out) {
  out.format = value;
  return ReadCustomFormat(value, param, out.custom);
}

constexpr Field<ResponsesTool> kResponsesToolFields[] = {
    {"type", TextField<ResponsesTool>{&ResponsesTool::type, 64}},
    {"name", CustomField<ResponsesTool>{TakeResponsesToolName}},
    {"description", CustomField<ResponsesTool>{TakeResponsesToolText}},
    {"parameters", CustomField<ResponsesTool>{TakeResponsesParameters}},
    {"strict", CustomField<ResponsesTool>{TakeResponsesStrict}},
    {"defer_loading", NoOpField{"false"}},
};

constexpr Field<ResponsesTool> kResponsesCustomFields[] = {
    {"type", TextField<ResponsesTool>{&ResponsesTool::type, 64}},
    {"name", CustomField<ResponsesTool>{TakeResponsesToolName}},
    {"description", CustomField<ResponsesTool>{TakeResponsesToolText}},
    {"format", CustomField<ResponsesTool>{TakeResponsesFormat}},
    {"defer_loading", NoOpField{"false"}},
};

// The tool in the format of templates.
json::object ToolForTemplate(const ResponsesTool& tool) {
  if (tool.type == "custom") return TemplateToolOfCustom(tool.custom);
  json::object function;
  function["name"] = tool.function.name;
  if (!tool.function.description.empty()) function["description"] = tool.function.description;
  if (tool.parameters.is_object()) function["parameters"] = tool.parameters;
  json::object out;
  out["type"] = "function";
  out["function"] = std::move(function);
  return out;
}

// The tool as a response repeats it: with all members.
json::object EchoedTool(const ResponsesTool& tool) {
  json::object out;
  out["type"] = tool.type;
  out["name"] = tool.function.name;
  if (tool.type == "custom") {
    out["description"] = tool.function.description;
    out["format"] = tool.format;
    return out;
  }
  out["description"] =
      tool.function.description.empty() ? json::value(nullptr) : json::value(tool.function.description);
  out["parameters"] = tool.parameters;
  out["strict"] = tool.function.strict;
  return out;
}

ApiStatus TakeResponsesTools(const json::value& value, std::string_view param, Fields& out) {
  const auto list = ReadArray(value, param, kMostResponsesTools);
  if (!list) return Forward(list);
  json::array echo;
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    const json::value* type = (*object)->if_contains("type");
    const bool custom = type != nullptr && *type == "custom";
    if (type == nullptr || (*type != "function" && !custom)) {
      return RefuseAs("unsupported_parameter", Join(name, "type"),
                      fmt::format("'{}' must be \"function\" or \"custom\": this server runs no tools of its own",
                                  Join(name, "type")));
    }
    ResponsesTool tool;
    const std::span<const Field<ResponsesTool>> fields =
        custom ? std::span<const Field<ResponsesTool>>(kResponsesCustomFields) : kResponsesToolFields;
    if (ApiStatus taken = ParseObject<ResponsesTool>(fields, name, **object, tool); !taken) return taken;
    if (tool.function.name.empty()) return Refuse(Join(name, "name"), "is missing");
    tool.custom.name = tool.function.name;
    tool.custom.description = tool.function.description;
    out.chat.tools.push_back(ToolForTemplate(tool));
    echo.push_back(EchoedTool(tool));
    out.chat.functions.push_back(custom ? FunctionOfCustom(tool.custom) : std::move(tool.function));
  }
  out.echo["tools"] = std::move(echo);
  return {};
}

struct ChosenTool {
  std::string type;
  std::string name;
  std::string mode;
  std::vector<std::string> allowed;
};

ApiStatus TakeChosenTools(const json::value& value, std::string_view param, ChosenTool& out) {
  static constexpr Field<ChosenTool> kFields[] = {{"type", TextField<ChosenTool>{&ChosenTool::type, 64}},
                                                  {"name", TextField<ChosenTool>{&ChosenTool::name, 128}}};
  const auto list = ReadArray(value, param, kMostResponsesTools);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    ChosenTool one;
    if (ApiStatus taken = ParseObject<ChosenTool>(kFields, name, **object, one); !taken) return taken;
    if ((one.type != "function" && one.type != "custom") || one.name.empty()) {
      return Refuse(name, "must be {{\"type\": \"function\", \"name\": ...}}");
    }
    out.allowed.push_back(std::move(one.name));
  }
  return {};
}

ApiStatus TakeResponsesChoice(const json::value& value, std::string_view param, Fields& out) {
  using Kind = ToolChoice::Kind;
  static constexpr Field<ChosenTool> kFields[] = {{"type", TextField<ChosenTool>{&ChosenTool::type, 64}},
                                                  {"name", TextField<ChosenTool>{&ChosenTool::name, 128}},
                                                  {"mode", TextField<ChosenTool>{&ChosenTool::mode, 64}},
                                                  {"tools", CustomField<ChosenTool>{TakeChosenTools}}};
  ChosenTool chosen;
  if (value.is_string()) {
    chosen.mode = value.get_string();
  } else {
    const auto object = ReadObject(value, param);
    if (!object) return Forward(object);
    if (ApiStatus taken = ParseObject<ChosenTool>(kFields, param, **object, chosen); !taken) return taken;
  }
  if ((chosen.type == "function" || chosen.type == "custom") && !chosen.name.empty()) {
    out.chat.tool_choice = {.kind = Kind::kFunction, .function = std::move(chosen.name)};
    return {};
  }
  const bool allowed = chosen.type == "allowed_tools" && !chosen.allowed.empty();
  for (const auto& [word, kind] :
       {std::pair("auto", Kind::kAuto), std::pair("none", Kind::kNone), std::pair("required", Kind::kRequired)}) {
    if (chosen.mode != word || (!value.is_string() && !allowed) || (allowed && kind == Kind::kNone)) continue;
    out.chat.tool_choice = {.kind = kind};
    out.allowed_tools = std::move(chosen.allowed);
    return {};
  }
  return Refuse(param,
                "must be \"auto\", \"none\", \"required\", {{\"type\": \"function\", \"name\": ...}} or "
                "{{\"type\": \"allowed_tools\", \"mode\": ..., \"tools\": [...]}}");
}

// --- text ---

struct TextFormat {
  std::string type;
  std::string name;
  std::string description;
  bool strict = false;  // the schema constrains the text either way
  std::optional<std::string> schema;
};

ApiStatus TakeTextSchema(const json::value& value, std::string_view param, TextFormat& out) {
  return ReadObject(value, param).map([&](const json::object* schema) { out.schema = json::serialize(*schema); });
}

ApiStatus TakeTextFormat(const json::value& value, std::string_view param, Fields& out) {
  using Kind = text::GrammarSpec::Kind;
  static constexpr Field<TextFormat> kFields[] = {
      {"type", TextField<TextFormat>{&TextFormat::type, 64}},
      {"name", TextField<TextFormat>{&TextFormat::name, 64}},
      {"description", TextField<TextFormat>{&TextFormat::description, kAnyResponsesText}},
      {"strict", BooleanField<TextFormat>{&TextFormat::strict}},
      {"schema", CustomField<TextFormat>{TakeTextSchema}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  TextFormat format;
  if (ApiStatus taken = ParseObject<TextFormat>(kFields, param, **object, format); !taken) return taken;
  if (format.type == "text") return {};
  if (format.type == "json_object") {
    out.grammar = text::GrammarSpec{.kind = Kind::kJsonObject};
  } else if (format.type == "json_schema") {
    if (format.name.empty()) return Refuse(Join(param, "name"), "is missing");
    if (!format.schema) return Refuse(Join(param, "schema"), "is missing");
    out.grammar = text::GrammarSpec{.kind = Kind::kJsonSchema, .source = std::move(*format.schema)};
  } else {
    return Refuse(Join(param, "type"), "must be \"text\", \"json_object\" or \"json_schema\"");
  }
  return {};
}

ApiStatus TakeTextSettings(const json::value& value, std::string_view param, Fields& out) {
  static constexpr Field<Fields> kFields[] = {
      {"format", CustomField<Fields>{TakeTextFormat}},
      {"verbosity", IgnoredField{Type::kText, "no chat template has such a setting"}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return ParseObject<Fields>(kFields, param, **object, out);
}

// --- reasoning ---

ApiStatus TakeResponsesEffort(const json::value& value, std::string_view param, Fields& out) {
  static constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
  ApiResult<std::string> effort = ReadText(value, param, 16);
  if (!effort) return Forward(effort);
  if (std::ranges::find(kEfforts, *effort) == std::end(kEfforts)) {
    return Refuse(param, "must be \"none\", \"minimal\", \"low\", \"medium\", \"high\", \"xhigh\" or \"max\"");
  }
  if (*effort == "none") {
    out.chat.reasoning.enabled = false;
  } else {
    out.chat.reasoning.effort = std::move(*effort);
  }
  return {};
}

ApiStatus TakeReasoning(const json::value& value, std::string_view param, Fields& out) {
  static constexpr IgnoredField kSummary = {Type::kText, "reasoning is given whole, as reasoning_text"};
  static constexpr Field<Fields> kFields[] = {
      {"effort", CustomField<Fields>{TakeResponsesEffort}},
      {"summary", kSummary},
      {"generate_summary", kSummary},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return ParseObject<Fields>(kFields, param, **object, out);
}

ApiStatus TakeResponsesBudget(const json::value& value, std::string_view param, Fields& out) {
  const auto budget = ReadInteger(value, param, 0, 1 << 24);
  if (!budget) return Forward(budget);
  out.chat.reasoning.budget = static_cast<int32_t>(*budget);
  return {};
}

ApiStatus TakeInclude(const json::value& value, std::string_view param, Fields& out) {
  static constexpr std::string_view kEmptyHere[] = {
      "reasoning.encrypted_content",    "file_search_call.results",      "web_search_call.results",
      "web_search_call.action.sources", "message.input_image.image_url", "computer_call_output.output.image_url",
      "code_interpreter_call.outputs"};
  const auto list = ReadArray(value, param, 64);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto word = ReadText((**list)[i], name, 128);
    if (!word) return Forward(word);
    if (*word == "message.output_text.logprobs") {
      out.logprobs = true;
    } else if (std::ranges::find(kEmptyHere, *word) == std::end(kEmptyHere)) {
      return Refuse(name, "is \"{}\"; what this server can include is \"message.output_text.logprobs\"", *word);
    }
  }
  return {};
}

ApiStatus TakeResponsesLogprobs(const json::value& value, std::string_view param, Fields& out) {
  return ReadInteger(value, param, 0, 20).map([&](int64_t count) { out.top_logprobs = static_cast<int32_t>(count); });
}

ApiStatus TakeParallel(const json::value& value, std::string_view param, Fields& out) {
  return ReadBoolean(value, param).map([&](bool several) { out.chat.parallel_tool_calls = several; });
}

ApiStatus TakeStreamSettings(const json::value& value, std::string_view param, Fields& out) {
  static constexpr Field<Fields> kFields[] = {
      {"include_obfuscation", IgnoredField{Type::kBoolean, "no event is padded"}}};
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return ParseObject<Fields>(kFields, param, **object, out);
}

constexpr Field<Fields> kResponsesFields[] = {
    {"model", TextField<Fields>{&Fields::model, 256}},
    {"input", CustomField<Fields>{TakeResponsesInput}},
    {"instructions", TextField<Fields>{&Fields::instructions, kAnyResponsesText}},
    {"previous_response_id", TextField<Fields>{&Fields::previous, 256}},
    {"conversation", CustomField<Fields>{TakeConversation}},
    {"max_output_tokens", CustomField<Fields>{TakeMaxOutput}},
    {"tools", CustomField<Fields>{TakeResponsesTools}},
    {"tool_choice", CustomField<Fields>{TakeResponsesChoice}},
    {"parallel_tool_calls", CustomField<Fields>{TakeParallel}},
    {"text", CustomField<Fields>{TakeTextSettings}},
    {"reasoning", CustomField<Fields>{TakeReasoning}},
    {"thinking_token_budget", CustomField<Fields>{TakeResponsesBudget}},
    {"include", CustomField<Fields>{TakeInclude}},
    {"top_logprobs", CustomField<Fields>{TakeResponsesLogprobs}},
    {"stream", BooleanField<Fields>{&Fields::stream}},
    {"stream_options", CustomField<Fields>{TakeStreamSettings}},
    {"store", BooleanField<Fields>{&Fields::store}},
    {"background", BooleanField<Fields>{&Fields::background}},
    {"prompt_cache_key", TextField<Fields>{&Fields::prompt_cache_key, 512}},
    {"metadata", IgnoredField{Type::kObject, "kept with the response"}},
    {"user", IgnoredField{Type::kText, "no answer depends on it"}},
    {"safety_identifier", IgnoredField{Type::kText, "no answer depends on it"}},
    {"service_tier", IgnoredField{Type::kText, "there is one tier"}},
    {"prompt_cache_retention", IgnoredField{Type::kText, "the server's own settings decide how long prompts are kept"}},
    {"max_tool_calls", IgnoredField{Type::kNumber, "this server runs no tools of its own"}},
    {"truncation", NoOpField{"\"disabled\""}},
    {"prompt", NoOpField{}},
    {"context_management", NoOpField{}},
    {"moderation", NoOpField{}},
};

// The fields that a response repeats as they were sent.
constexpr std::string_view kEchoed[] = {
    "instructions",  "max_output_tokens", "metadata", "parallel_tool_calls", "previous_response_id",
    "reasoning",     "temperature",       "text",     "tool_choice",         "top_p",
    "top_logprobs",  "truncation",        "user",     "safety_identifier",   "prompt_cache_key",
    "max_tool_calls"};

json::object DefaultEcho() {
  json::object out;
  out["instructions"] = nullptr;
  out["max_output_tokens"] = nullptr;
  out["metadata"] = json::object();
  out["parallel_tool_calls"] = true;
  out["previous_response_id"] = nullptr;
  out["reasoning"] = {{"effort", nullptr}, {"summary", nullptr}};
  out["temperature"] = 1.0;
  out["text"] = json::object{{"format", json::object{{"type", "text"}}}};
  out["tool_choice"] = "auto";
  out["tools"] = json::array();
  out["top_p"] = 1.0;
  out["truncation"] = "disabled";
  out["service_tier"] = "default";
  return out;
}

// Leaves only the allowed tools.
ApiStatus KeepAllowed(Fields& out) {
  if (out.allowed_tools.empty()) return {};
  json::array tools;
  std::vector<OfferedFunction> functions;
  for (const std::string& name : out.allowed_tools) {
    const auto found = std::ranges::find(out.chat.functions, name, &OfferedFunction::name);
    if (found == out.chat.functions.end()) {
      return Refuse("tool_choice.tools", "names '{}', which is not among the tools", name);
    }
    tools.push_back(out.chat.tools[static_cast<size_t>(found - out.chat.functions.begin())]);
    functions.push_back(*found);
  }
  out.chat.tools = std::move(tools);
  out.chat.functions = std::move(functions);
  return {};
}

ApiStatus CheckResponses(Fields& out) {
  if (!out.has_input) return RefuseAs("missing_required_parameter", "input", "'input' is missing");
  if (out.input.messages.empty() && out.previous.empty() && out.conversation.empty()) {
    return Refuse("input", "must hold at least one item");
  }
  if (!out.previous.empty() && !out.conversation.empty()) {
    return Refuse("conversation", "does not go with 'previous_response_id'");
  }
  if (out.background && !out.store) return Refuse("background", "needs 'store' to be true");
  if (out.top_logprobs) out.logprobs = true;
  if (out.logprobs && !out.top_logprobs) out.top_logprobs = 0;
  return CheckSampling(out.sampling);
}

}  // namespace

ApiError FromResponsesGeneration(serving::GenerationError error) {
  using Field = serving::GenerationError::Field;
  const auto name = [&]() -> std::string {
    switch (error.field) {
      case Field::kModel:
        return "model";
      case Field::kPrompt:
        return "input";
      case Field::kGrammar:
        return "text.format";
      case Field::kLogitBias:
        return "logit_bias";
      case Field::kTools:
        return "tools";
      case Field::kToolChoice:
        return "tool_choice";
      case Field::kParallelCalls:
        return "parallel_tool_calls";
      case Field::kStrictTool:
        return fmt::format("tools[{}].strict", error.index);
      case Field::kReasoning:
        return "thinking_token_budget";
      case Field::kLogprobs:
        return "top_logprobs";
      case Field::kSpeculation:
      case Field::kPromptLogprobs:
        break;  // this API has no such fields
    }
    return {};
  };
  return FromGeneration(std::move(error), name());
}

ApiResult<ResponsesRequest> ParseResponsesRequest(const json::object& body) {
  Fields out;
  for (const auto& [key, value] : body) {
    ApiResult<bool> taken = ParseField<Fields>(kResponsesFields, key, key, value, out);
    if (taken && !*taken) taken = ParseSamplingField(key, value, out.sampling);
    if (!taken) return Forward(taken);
    if (*taken) continue;
    std::vector<std::string_view> known;
    AppendNames<Fields>(kResponsesFields, known);
    AppendSamplingNames(known);
    return RefuseUnknown(key, known);
  }
  if (ApiStatus checked = CheckResponses(out); !checked) return Forward(checked);
  json::object echo = DefaultEcho();
  for (const std::string_view name : kEchoed) {
    const json::value* value = body.if_contains(name);
    if (value != nullptr && !value->is_null()) echo[name] = *value;
  }
  if (out.echo.contains("tools")) echo["tools"] = std::move(out.echo["tools"]);
  if (!out.conversation.empty()) echo["conversation"] = json::object{{"id", out.conversation}};
  echo["background"] = out.background;
  echo["store"] = out.store;
  out.echo = std::move(echo);
  if (ApiStatus kept = KeepAllowed(out); !kept) return Forward(kept);
  if (auto resolved = serving::ResolveTools(out.chat, out); !resolved) {
    return tl::make_unexpected(FromResponsesGeneration(std::move(resolved.error())));
  }
  return out;
}

std::vector<FieldRow> ResponsesFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<Fields>(kResponsesFields, out);
  return out;
}

}  // namespace inferflux::server
