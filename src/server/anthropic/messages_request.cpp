#include "server/anthropic/messages_request.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "server/anthropic/message_blocks.h"
#include "server/request/fields.h"
#include "server/request/sampling_fields.h"
#include "serving/generation/tool_use.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using serving::OfferedFunction;
using serving::ToolChoice;

constexpr size_t kMostTools = 128;
constexpr size_t kMostStops = 64;
constexpr size_t kMostStopBytes = 1024;
constexpr int32_t kMostTokens = 1 << 24;

ApiStatus TakeSystem(const json::value& value, std::string_view param, MessagesRequest& out) {
  return ReadTextBlocks(value, param).map([&](std::string text) { out.system = std::move(text); });
}

ApiStatus TakeAnthropicMessages(const json::value& value, std::string_view param, MessagesRequest& out) {
  return ReadAnthropicMessages(value, param).map([&](json::array list) { out.chat.messages = std::move(list); });
}

ApiStatus TakeStopSequences(const json::value& value, std::string_view param, MessagesRequest& out) {
  const auto list = ReadArray(value, param, kMostStops);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    ApiResult<std::string> stop = ReadText((**list)[i], name, kMostStopBytes);
    if (!stop) return Forward(stop);
    if (stop->empty()) return Refuse(name, "must not be empty");
    out.stop.push_back(std::move(*stop));
  }
  return {};
}

// --- tools ---

struct AnthropicTool {
  std::string type = "custom";
  OfferedFunction function;
  json::object schema;
};

ApiStatus TakeName(const json::value& value, std::string_view param, AnthropicTool& out) {
  return ReadText(value, param, 128).map([&](std::string name) { out.function.name = std::move(name); });
}

ApiStatus TakeDescription(const json::value& value, std::string_view param, AnthropicTool& out) {
  return ReadText(value, param, std::numeric_limits<size_t>::max()).map([&](std::string text) {
    out.function.description = std::move(text);
  });
}

ApiStatus TakeInputSchema(const json::value& value, std::string_view param, AnthropicTool& out) {
  return ReadObject(value, param).map([&](const json::object* schema) { out.schema = *schema; });
}

ApiStatus TakeStrict(const json::value& value, std::string_view param, AnthropicTool& out) {
  return ReadBoolean(value, param).map([&](bool strict) { out.function.strict = strict; });
}

// Marks a prefix for Anthropic's prompt cache. Ignored: this server caches prefixes without it.
template <class T>
ApiStatus TakeMark(const json::value& value, std::string_view param, T&) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return {};
}

constexpr Field<AnthropicTool> kAnthropicToolFields[] = {
    {"type", TextField<AnthropicTool>{&AnthropicTool::type, 64}},
    {"name", CustomField<AnthropicTool>{TakeName}},
    {"description", CustomField<AnthropicTool>{TakeDescription}},
    {"input_schema", CustomField<AnthropicTool>{TakeInputSchema}},
    {"strict", CustomField<AnthropicTool>{TakeStrict}},
    {"cache_control", CustomField<AnthropicTool>{TakeMark<AnthropicTool>}},
    {"allowed_callers", NoOpField{R"(["direct"])"}},
    {"defer_loading", NoOpField{"false"}},
    {"eager_input_streaming", NoOpField{"false"}},
    {"input_examples", NoOpField{"[]"}},
};

// The tools in the format of templates.
json::object ForTemplate(const AnthropicTool& tool) {
  json::object function;
  function["name"] = tool.function.name;
  if (!tool.function.description.empty()) function["description"] = tool.function.description;
  function["parameters"] = tool.schema;
  json::object out;
  out["type"] = "function";
  out["function"] = std::move(function);
  return out;
}

ApiStatus TakeAnthropicTools(const json::value& value, std::string_view param, MessagesRequest& out) {
  const auto list = ReadArray(value, param, kMostTools);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    if (const json::value* type = (*object)->if_contains("type"); type && !type->is_null() && *type != "custom") {
      return RefuseAs("unsupported_parameter", Join(name, "type"),
                      fmt::format("'{}' must be \"custom\": this server runs no tools of its own", Join(name, "type")));
    }
    AnthropicTool tool;
    if (ApiStatus taken = ParseObject<AnthropicTool>(kAnthropicToolFields, name, **object, tool); !taken) return taken;
    if (tool.function.name.empty()) return Refuse(Join(name, "name"), "is missing");
    if (!(*object)->contains("input_schema")) return Refuse(Join(name, "input_schema"), "is missing");
    out.chat.tools.push_back(ForTemplate(tool));
    tool.function.parameters = json::serialize(tool.schema);
    out.chat.functions.push_back(std::move(tool.function));
  }
  return {};
}

struct ChoiceFields {
  std::string type;
  std::string name;
  bool disable_parallel_tool_use = false;
};

ApiStatus TakeAnthropicChoice(const json::value& value, std::string_view param, MessagesRequest& out) {
  static constexpr Field<ChoiceFields> kFields[] = {
      {"type", TextField<ChoiceFields>{&ChoiceFields::type, 64}},
      {"name", TextField<ChoiceFields>{&ChoiceFields::name, 128}},
      {"disable_parallel_tool_use", BooleanField<ChoiceFields>{&ChoiceFields::disable_parallel_tool_use}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  ChoiceFields choice;
  if (ApiStatus taken = ParseObject<ChoiceFields>(kFields, param, **object, choice); !taken) return taken;
  using Kind = ToolChoice::Kind;
  for (const auto& [word, kind] : {std::pair("auto", Kind::kAuto), std::pair("any", Kind::kRequired),
                                   std::pair("tool", Kind::kFunction), std::pair("none", Kind::kNone)}) {
    if (choice.type != word) continue;
    if ((kind == Kind::kFunction) == choice.name.empty()) {
      return Refuse(Join(param, "name"), "goes with the type \"tool\", and only with it");
    }
    out.chat.tool_choice = {.kind = kind, .function = std::move(choice.name)};
    out.chat.parallel_tool_calls = !choice.disable_parallel_tool_use;
    return {};
  }
  return Refuse(Join(param, "type"), "must be \"auto\", \"any\", \"tool\" or \"none\"");
}

struct ThinkingFields {
  std::string type;
  std::optional<int64_t> budget_tokens;
};

ApiStatus TakeThinking(const json::value& value, std::string_view param, MessagesRequest& out) {
  static constexpr Field<ThinkingFields> kFields[] = {
      {"type", TextField<ThinkingFields>{&ThinkingFields::type, 64}},
      {"budget_tokens", IntegerField<ThinkingFields>{&ThinkingFields::budget_tokens, 1, kMostTokens}},
      {"display", NoOpField{"\"summarized\""}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  ThinkingFields fields;
  if (ApiStatus taken = ParseObject<ThinkingFields>(kFields, param, **object, fields); !taken) return taken;
  if (fields.type != "enabled" && fields.type != "disabled" && fields.type != "adaptive") {
    return Refuse(Join(param, "type"), "must be \"enabled\", \"disabled\" or \"adaptive\"");
  }
  if (fields.budget_tokens && fields.type != "enabled") {
    return Refuse(Join(param, "budget_tokens"), "goes with the type \"enabled\"");
  }
  if (fields.type != "adaptive") out.chat.reasoning.enabled = fields.type == "enabled";
  if (fields.budget_tokens) out.chat.reasoning.budget = static_cast<int32_t>(*fields.budget_tokens);
  return {};
}

struct OutputFormat {
  std::string type;
  std::optional<std::string> schema;
};

ApiStatus TakeFormatSchema(const json::value& value, std::string_view param, OutputFormat& out) {
  return ReadObject(value, param).map([&](const json::object* schema) { out.schema = json::serialize(*schema); });
}

ApiStatus TakeOutputFormat(const json::value& value, std::string_view param, MessagesRequest& out) {
  static constexpr Field<OutputFormat> kFields[] = {
      {"type", TextField<OutputFormat>{&OutputFormat::type, 64}},
      {"schema", CustomField<OutputFormat>{TakeFormatSchema}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  OutputFormat format;
  if (ApiStatus taken = ParseObject<OutputFormat>(kFields, param, **object, format); !taken) return taken;
  if (format.type != "json_schema") return Refuse(Join(param, "type"), "must be \"json_schema\"");
  if (!format.schema) return Refuse(Join(param, "schema"), "is missing");
  out.grammar = text::GrammarSpec{.kind = text::GrammarSpec::Kind::kJsonSchema, .source = std::move(*format.schema)};
  return {};
}

ApiStatus TakeOutputConfig(const json::value& value, std::string_view param, MessagesRequest& out) {
  static constexpr Field<MessagesRequest> kFields[] = {
      {"format", CustomField<MessagesRequest>{TakeOutputFormat}},
      {"effort", NoOpField{}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return ParseObject<MessagesRequest>(kFields, param, **object, out);
}

struct Metadata {
  std::string user_id;
};

ApiStatus TakeMetadata(const json::value& value, std::string_view param, MessagesRequest&) {
  static constexpr Field<Metadata> kFields[] = {{"user_id", TextField<Metadata>{&Metadata::user_id, 512}}};
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  Metadata ignored;  // accepted without effect
  return ParseObject<Metadata>(kFields, param, **object, ignored);
}

ApiStatus TakeServiceTier(const json::value& value, std::string_view param, MessagesRequest&) {
  if (value == "auto" || value == "standard_only") return {};
  return Refuse(param, "must be \"auto\" or \"standard_only\"");
}

constexpr Field<MessagesRequest> kPromptFields[] = {
    {"model", TextField<MessagesRequest>{&MessagesRequest::model, 256}},
    {"messages", CustomField<MessagesRequest>{TakeAnthropicMessages}},
    {"system", CustomField<MessagesRequest>{TakeSystem}},
    {"tools", CustomField<MessagesRequest>{TakeAnthropicTools}},
    {"tool_choice", CustomField<MessagesRequest>{TakeAnthropicChoice}},
    {"thinking", CustomField<MessagesRequest>{TakeThinking}},
    {"cache_control", CustomField<MessagesRequest>{TakeMark<MessagesRequest>}},
    {"output_config", CustomField<MessagesRequest>{TakeOutputConfig}},
    {"speed", NoOpField{"\"standard\""}},
};

constexpr Field<MessagesRequest> kAnswerFields[] = {
    {"max_tokens", CountField<MessagesRequest>{&MessagesRequest::max_tokens, 1, kMostTokens}},
    {"stop_sequences", CustomField<MessagesRequest>{TakeStopSequences}},
    {"stream", BooleanField<MessagesRequest>{&MessagesRequest::stream}},
    {"metadata", CustomField<MessagesRequest>{TakeMetadata}},
    {"service_tier", CustomField<MessagesRequest>{TakeServiceTier}},
    {"container", NoOpField{}},
    {"diagnostics", NoOpField{}},
    {"inference_geo", NoOpField{}},
    {"mcp_servers", NoOpField{"[]"}},
};

ApiStatus Missing(std::string_view field) {
  return RefuseAs("missing_required_parameter", field, fmt::format("'{}' is missing", field));
}

ApiResult<MessagesRequest> Finished(MessagesRequest out) {
  if (out.model.empty()) return Forward(Missing("model"));
  if (out.chat.messages.empty()) return Forward(Missing("messages"));
  if (!out.system.empty()) {
    out.chat.messages.insert(out.chat.messages.begin(), json::object{{"role", "system"}, {"content", out.system}});
  }
  if (auto resolved = serving::ResolveTools(out.chat, out); !resolved) {
    return tl::make_unexpected(FromMessagesGeneration(std::move(resolved.error())));
  }
  return out;
}

}  // namespace

ApiError FromMessagesGeneration(serving::GenerationError error) {
  using Field = serving::GenerationError::Field;
  const auto name = [&]() -> std::string {
    switch (error.field) {
      case Field::kModel:
        return "model";
      case Field::kPrompt:
        return "messages";
      case Field::kLogitBias:
        return "logit_bias";
      case Field::kTools:
        return "tools";
      case Field::kToolChoice:
        return "tool_choice";
      case Field::kParallelCalls:
        return "tool_choice.disable_parallel_tool_use";
      case Field::kStrictTool:
        return fmt::format("tools[{}].strict", error.index);
      case Field::kGrammar:
        return "output_config.format";
      case Field::kReasoning:
        return "thinking";
      case Field::kSpeculation:
      case Field::kPromptLogprobs:
      case Field::kLogprobs:
        break;  // this API has no such fields
    }
    return {};
  };
  return FromGeneration(std::move(error), name());
}

ApiResult<MessagesRequest> ParseMessagesRequest(const json::object& body) {
  MessagesRequest out;
  for (const auto& [key, value] : body) {
    ApiResult<bool> taken = ParseField<MessagesRequest>(kPromptFields, key, key, value, out);
    if (taken && !*taken) taken = ParseField<MessagesRequest>(kAnswerFields, key, key, value, out);
    if (taken && !*taken) taken = ParseSamplingField(key, value, out.sampling);
    if (!taken) return Forward(taken);
    if (*taken) continue;
    std::vector<std::string_view> known;
    AppendNames<MessagesRequest>(kPromptFields, known);
    AppendNames<MessagesRequest>(kAnswerFields, known);
    AppendSamplingNames(known);
    return RefuseUnknown(key, known);
  }
  if (ApiStatus checked = CheckSampling(out.sampling); !checked) return Forward(checked);
  if (out.max_tokens == 0) return Forward(Missing("max_tokens"));
  return Finished(std::move(out));
}

ApiResult<MessagesRequest> ParseCountRequest(const json::object& body) {
  MessagesRequest out;
  if (ApiStatus taken = ParseObject<MessagesRequest>(kPromptFields, "", body, out); !taken) return Forward(taken);
  return Finished(std::move(out));
}

std::vector<FieldRow> MessagesFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<MessagesRequest>(kPromptFields, out);
  AppendRows<MessagesRequest>(kAnswerFields, out);
  return out;
}

}  // namespace inferflux::server
