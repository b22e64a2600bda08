#include "server/openai/chat_request.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <limits>
#include <utility>

#include "server/openai/chat_messages.h"
#include "server/reply/custom_tools.h"
#include "serving/generation/chat_prompt.h"
#include "serving/generation/tool_use.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using serving::OfferedFunction;
using serving::ToolChoice;

constexpr size_t kMaxTools = 128;

ApiStatus TakeMessages(const json::value& value, std::string_view param, ChatRequest& out) {
  ApiResult<json::array> messages = ParseMessages(value, param);
  if (!messages) return Forward(messages);
  out.chat.messages = std::move(*messages);
  return {};
}

ApiStatus TakeParameters(const json::value& value, std::string_view param, OfferedFunction& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  out.parameters = json::serialize(**object);
  return {};
}

constexpr Field<OfferedFunction> kOfferedFunctionFields[] = {
    {"name", TextField<OfferedFunction>{&OfferedFunction::name, 64}},
    {"description", TextField<OfferedFunction>{&OfferedFunction::description, std::numeric_limits<size_t>::max()}},
    {"parameters", CustomField<OfferedFunction>{TakeParameters}},
    {"strict", BooleanField<OfferedFunction>{&OfferedFunction::strict}},
};

struct OfferedTool {
  std::string type;
  std::optional<OfferedFunction> function;
  std::optional<CustomTool> custom;
};

ApiStatus TakeCustom(const json::value& value, std::string_view param, OfferedTool& out) {
  static constexpr Field<CustomTool> kFields[] = {
      {"name", TextField<CustomTool>{&CustomTool::name, 64}},
      {"description", TextField<CustomTool>{&CustomTool::description, std::numeric_limits<size_t>::max()}},
      {"format", CustomField<CustomTool>{ReadCustomFormat}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  CustomTool custom;
  if (ApiStatus taken = ParseObject<CustomTool>(kFields, param, **object, custom); !taken) return taken;
  if (custom.name.empty()) return Refuse(Join(param, "name"), "is missing");
  out.custom = std::move(custom);
  return {};
}

ApiStatus TakeFunction(const json::value& value, std::string_view param, OfferedTool& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  OfferedFunction function;
  if (ApiStatus taken = ParseObject<OfferedFunction>(kOfferedFunctionFields, param, **object, function); !taken)
    return taken;
  if (function.name.empty()) return Refuse(Join(param, "name"), "is missing");
  out.function = std::move(function);
  return {};
}

constexpr Field<OfferedTool> kToolFields[] = {
    {"type", TextField<OfferedTool>{&OfferedTool::type, 64}},
    {"function", CustomField<OfferedTool>{TakeFunction}},
    {"custom", CustomField<OfferedTool>{TakeCustom}},
    {"cache_control", IgnoredField{IgnoredField::Type::kObject, "every prompt is cached"}},
};

// Tools are checked and then passed to the template, without what other services mark in them.
ApiStatus TakeTools(const json::value& value, std::string_view param, ChatRequest& out) {
  const auto list = ReadArray(value, param, kMaxTools);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    OfferedTool tool;
    if (ApiStatus taken = ParseObject<OfferedTool>(kToolFields, name, **object, tool); !taken) return taken;
    if (tool.type != "function" && tool.type != "custom") {
      return Refuse(Join(name, "type"), "must be \"function\" or \"custom\"");
    }
    const bool custom = tool.type == "custom";
    if (custom ? !tool.custom : !tool.function) return Refuse(Join(name, tool.type), "is missing");
    if (custom ? tool.function.has_value() : tool.custom.has_value()) {
      return Refuse(Join(name, custom ? "function" : "custom"), "does not go with the type \"{}\"", tool.type);
    }
    if (custom) {
      out.chat.tools.push_back(TemplateToolOfCustom(*tool.custom));
      out.chat.functions.push_back(FunctionOfCustom(*tool.custom));
    } else {
      json::object& plain = out.chat.tools.emplace_back(**object).get_object();
      plain.erase("cache_control");
      out.chat.functions.push_back(std::move(*tool.function));
    }
  }
  return {};
}

struct NamedTool {
  std::string type;
  std::string function;
  std::string custom;
  const json::value* allowed = nullptr;

  // Empty unless the member that the type names has it.
  const std::string& name() const {
    static const std::string kNone;
    const bool whole = type == "function" ? custom.empty() : type == "custom" && function.empty();
    if (!whole) return kNone;
    return type == "function" ? function : custom;
  }
};

ApiStatus TakeNamed(const json::value& value, std::string_view param, std::string& out) {
  struct Named {
    std::string name;
  };
  static constexpr Field<Named> kFields[] = {{"name", TextField<Named>{&Named::name, 64}}};
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  Named named;
  if (ApiStatus taken = ParseObject<Named>(kFields, param, **object, named); !taken) return taken;
  out = std::move(named.name);
  return {};
}

ApiStatus TakeFunctionName(const json::value& value, std::string_view param, NamedTool& out) {
  return TakeNamed(value, param, out.function);
}

ApiStatus TakeCustomName(const json::value& value, std::string_view param, NamedTool& out) {
  return TakeNamed(value, param, out.custom);
}

struct AllowedTools {
  std::string mode = "auto";
  std::vector<std::string> names;
};

ApiStatus TakeAllowedList(const json::value& value, std::string_view param, AllowedTools& out) {
  static constexpr Field<NamedTool> kFields[] = {
      {"type", TextField<NamedTool>{&NamedTool::type, 64}},
      {"function", CustomField<NamedTool>{TakeFunctionName}},
      {"custom", CustomField<NamedTool>{TakeCustomName}},
  };
  const auto list = ReadArray(value, param, kMaxTools);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    NamedTool tool;
    if (ApiStatus taken = ParseObject<NamedTool>(kFields, name, **object, tool); !taken) return taken;
    if (tool.name().empty()) {
      return Refuse(name, "must be {{\"type\": \"function\", \"function\": {{\"name\": ...}}}}");
    }
    out.names.push_back(tool.name());
  }
  return {};
}

ApiStatus TakeAllowedTools(const json::value& value, std::string_view param, ChatRequest& out) {
  static constexpr Field<AllowedTools> kFields[] = {
      {"mode", TextField<AllowedTools>{&AllowedTools::mode, 16}},
      {"tools", CustomField<AllowedTools>{TakeAllowedList}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  AllowedTools allowed;
  if (ApiStatus taken = ParseObject<AllowedTools>(kFields, param, **object, allowed); !taken) return taken;
  if (allowed.mode != "auto" && allowed.mode != "required") {
    return Refuse(Join(param, "mode"), "must be \"auto\" or \"required\"");
  }
  if (allowed.names.empty()) return Refuse(Join(param, "tools"), "must name at least one tool");
  out.chat.tool_choice.kind = allowed.mode == "auto" ? ToolChoice::Kind::kAuto : ToolChoice::Kind::kRequired;
  out.allowed_tools = std::move(allowed.names);
  return {};
}

// Leaves only the allowed tools.
ApiStatus KeepAllowedTools(ChatRequest& out) {
  if (out.allowed_tools.empty()) return {};
  json::array tools;
  std::vector<OfferedFunction> functions;
  for (const std::string& name : out.allowed_tools) {
    const auto found = std::ranges::find(out.chat.functions, name, &OfferedFunction::name);
    if (found == out.chat.functions.end()) {
      return Refuse("tool_choice.allowed_tools", "names '{}', which is not among the tools", name);
    }
    tools.push_back(out.chat.tools[static_cast<size_t>(found - out.chat.functions.begin())]);
    functions.push_back(*found);
  }
  out.chat.tools = std::move(tools);
  out.chat.functions = std::move(functions);
  return {};
}

ApiStatus TakeToolChoice(const json::value& value, std::string_view param, ChatRequest& out) {
  using Kind = ToolChoice::Kind;
  for (const auto& [word, kind] :
       {std::pair("auto", Kind::kAuto), std::pair("none", Kind::kNone), std::pair("required", Kind::kRequired)}) {
    if (value == word) {
      out.chat.tool_choice = {.kind = kind};
      return {};
    }
  }
  static constexpr Field<NamedTool> kFields[] = {
      {"type", TextField<NamedTool>{&NamedTool::type, 64}},
      {"function", CustomField<NamedTool>{TakeFunctionName}},
      {"custom", CustomField<NamedTool>{TakeCustomName}},
      {"allowed_tools", CustomField<NamedTool>{[](const json::value& allowed, std::string_view, NamedTool& tool) {
         tool.allowed = &allowed;
         return ApiStatus();
       }}},
  };
  NamedTool named;
  if (value.is_object()) {
    if (ApiStatus taken = ParseObject<NamedTool>(kFields, param, value.get_object(), named); !taken) return taken;
  }
  if (named.type == "allowed_tools" && named.allowed != nullptr) {
    return TakeAllowedTools(*named.allowed, Join(param, "allowed_tools"), out);
  }
  if (named.name().empty()) {
    return Refuse(param,
                  "must be \"auto\", \"none\", \"required\" or {{\"type\": \"function\", \"function\": {{\"name\": "
                  "...}}}}");
  }
  out.chat.tool_choice = {.kind = Kind::kFunction, .function = named.name()};
  return {};
}

ApiStatus TakeParallelCalls(const json::value& value, std::string_view param, ChatRequest& out) {
  return ReadBoolean(value, param).map([&](bool several) { out.chat.parallel_tool_calls = several; });
}

ApiStatus TakeTopLogprobs(const json::value& value, std::string_view param, ChatRequest& out) {
  return ReadInteger(value, param, 0, 20).map([&](int64_t count) { out.top_logprobs = static_cast<int32_t>(count); });
}

ApiStatus TakeMaxCompletionTokens(const json::value& value, std::string_view param, ChatRequest& out) {
  return ReadMaxTokens(value, param).map([&](int32_t count) { out.max_completion_tokens = count; });
}

ApiStatus TakeReasoningEffort(const json::value& value, std::string_view param, ChatRequest& out) {
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

ApiStatus TakeThinkingBudget(const json::value& value, std::string_view param, ChatRequest& out) {
  const auto budget = ReadInteger(value, param, 0, kMaxTokensAsked);
  if (!budget) return Forward(budget);
  out.chat.reasoning.budget = static_cast<int32_t>(*budget);
  out.reasoning_param = param;
  return {};
}

ApiStatus TakeTemplateVariables(const json::value& value, std::string_view param, ChatRequest& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  for (const auto& [name, one] : **object) {
    if (serving::IsServersVariable(name)) {
      return Refuse(Join(param, name), "is set by the server from the request's other fields");
    }
    // The server closes reasoning that a template opens although it is switched off.
    if ((name == "enable_thinking" || name == "thinking") && one == false) out.chat.reasoning.enabled = false;
  }
  out.chat.template_variables = **object;
  return {};
}

ApiStatus TakePredictedContent(const json::value& value, std::string_view param, ChatRequest& out) {
  return ReadTextContent(value, param).map([&](std::string text) { out.prediction = std::move(text); });
}

ApiStatus TakePrediction(const json::value& value, std::string_view param, ChatRequest& out) {
  static constexpr Field<ChatRequest> kFields[] = {
      {"type", CustomField<ChatRequest>{[](const json::value& type, std::string_view name, ChatRequest&) {
         return type == "content" ? ApiStatus() : Refuse(name, "must be \"content\"");
       }}},
      {"content", CustomField<ChatRequest>{TakePredictedContent}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  for (const std::string_view name : {"type", "content"}) {
    if (!(*object)->contains(name)) return Refuse(Join(param, name), "is missing");
  }
  return ParseObject<ChatRequest>(kFields, param, **object, out);
}

constexpr Field<ChatRequest> kChatFields[] = {
    {"messages", CustomField<ChatRequest>{TakeMessages}},
    {"max_completion_tokens", CustomField<ChatRequest>{TakeMaxCompletionTokens}},
    {"logprobs", BooleanField<ChatRequest>{&ChatRequest::logprobs}},
    {"top_logprobs", CustomField<ChatRequest>{TakeTopLogprobs}},
    {"tools", CustomField<ChatRequest>{TakeTools}},
    {"tool_choice", CustomField<ChatRequest>{TakeToolChoice}},
    {"parallel_tool_calls", CustomField<ChatRequest>{TakeParallelCalls}},
    {"modalities", NoOpField{"[\"text\"]"}},
    {"audio", NoOpField{}},
    {"prediction", CustomField<ChatRequest>{TakePrediction}},
    {"reasoning_effort", CustomField<ChatRequest>{TakeReasoningEffort}},
    {"thinking_token_budget", CustomField<ChatRequest>{TakeThinkingBudget}},
    {"chat_template_kwargs", CustomField<ChatRequest>{TakeTemplateVariables}},
    {"verbosity", IgnoredField{IgnoredField::Type::kText, "no chat template has such a setting"}},
    {"web_search_options", NoOpField{}},
    {"functions", NoOpField{}},
    {"function_call", NoOpField{}},
};

}  // namespace

ApiResult<ChatRequest> ParseChatRequest(const json::object& body) {
  ChatRequest out;
  if (ApiStatus taken = ParseRequest<ChatRequest>(kChatFields, body, out); !taken) return Forward(taken);
  if (ApiStatus checked = CheckTogether(out); !checked) return Forward(checked);
  if (out.chat.messages.empty()) return RefuseAs("missing_required_parameter", "messages", "'messages' is missing");
  if (out.top_logprobs && !out.logprobs) return Refuse("top_logprobs", "needs 'logprobs' to be true");
  if (out.logprobs && !out.top_logprobs) out.top_logprobs = 0;
  if (out.max_completion_tokens > 0) {
    if (out.max_tokens > 0 && out.max_tokens != out.max_completion_tokens) {
      return Refuse("max_tokens", "contradicts 'max_completion_tokens'; give one of them");
    }
    out.max_tokens = out.max_completion_tokens;
  }
  if (ApiStatus kept = KeepAllowedTools(out); !kept) return Forward(kept);
  if (auto resolved = serving::ResolveTools(out.chat, out); !resolved) {
    return tl::make_unexpected(FromGeneration(std::move(resolved.error()), out, "messages"));
  }
  return out;
}

std::vector<FieldRow> ChatFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<ChatRequest>(kChatFields, out);
  return out;
}

}  // namespace inferflux::server
