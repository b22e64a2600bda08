#include "server/openai/chat_request.h"

#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

#include "server/openai/chat_messages.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kMaxTools = 128;
constexpr std::string_view kNoParameters = R"({"type":"object","properties":{},"additionalProperties":false})";

ApiStatus TakeMessages(const json::value& value, std::string_view param, ChatRequest& out) {
  ApiResult<json::array> messages = ParseMessages(value, param);
  if (!messages) return Forward(messages);
  out.messages = std::move(*messages);
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
};

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
};

// Tools are checked, and then go to the template as they came.
ApiStatus TakeTools(const json::value& value, std::string_view param, ChatRequest& out) {
  const auto list = ReadArray(value, param, kMaxTools);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    OfferedTool tool;
    if (ApiStatus taken = ParseObject<OfferedTool>(kToolFields, name, **object, tool); !taken) return taken;
    if (tool.type != "function") return Refuse(Join(name, "type"), "must be \"function\"");
    if (!tool.function) return Refuse(Join(name, "function"), "is missing");
    out.functions.push_back(std::move(*tool.function));
  }
  out.tools = **list;
  return {};
}

struct NamedTool {
  std::string type;
  std::string function;
};

ApiStatus TakeFunctionName(const json::value& value, std::string_view param, NamedTool& out) {
  static constexpr Field<NamedTool> kFields[] = {{"name", TextField<NamedTool>{&NamedTool::function, 64}}};
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return ParseObject<NamedTool>(kFields, param, **object, out);
}

ApiStatus TakeToolChoice(const json::value& value, std::string_view param, ChatRequest& out) {
  using Kind = ToolChoice::Kind;
  for (const auto& [word, kind] :
       {std::pair("auto", Kind::kAuto), std::pair("none", Kind::kNone), std::pair("required", Kind::kRequired)}) {
    if (value == word) {
      out.tool_choice = {.kind = kind};
      return {};
    }
  }
  static constexpr Field<NamedTool> kFields[] = {
      {"type", TextField<NamedTool>{&NamedTool::type, 64}},
      {"function", CustomField<NamedTool>{TakeFunctionName}},
  };
  NamedTool named;
  if (value.is_object()) {
    if (ApiStatus taken = ParseObject<NamedTool>(kFields, param, value.get_object(), named); !taken) return taken;
  }
  if (named.type != "function" || named.function.empty()) {
    return Refuse(param,
                  "must be \"auto\", \"none\", \"required\" or {{\"type\": \"function\", \"function\": {{\"name\": "
                  "...}}}}");
  }
  out.tool_choice = {.kind = Kind::kFunction, .function = std::move(named.function)};
  return {};
}

// What is asked of the tools, together; where that needs calls to be held to their form, the grammar that does it.
ApiStatus ResolveTools(ChatRequest& out) {
  using Kind = ToolChoice::Kind;
  const ToolChoice& choice = out.tool_choice;
  if (choice.kind == Kind::kNone) {
    out.tools.clear();
    out.functions.clear();
  }
  const bool forced = choice.kind == Kind::kRequired || choice.kind == Kind::kFunction;
  if (forced && out.tools.empty()) return Refuse("tool_choice", "forces a call, but there are no 'tools'");
  if (out.tools.empty()) return {};
  if (out.grammar) {
    return Refuse(out.grammar_param, "leaves no room for the call of a tool; set 'tool_choice' to \"none\"");
  }
  text::ToolCallSpec spec{.forced = forced, .several = out.parallel_tool_calls};
  if (choice.kind == Kind::kFunction) spec.several = false;
  for (size_t i = 0; i < out.functions.size(); ++i) {
    const OfferedFunction& function = out.functions[i];
    if (choice.kind == Kind::kFunction && function.name != choice.function) continue;
    text::OfferedTool tool{.name = function.name, .parameters = {}};
    if (forced || function.strict) {
      tool.parameters = function.parameters.empty() ? std::string(kNoParameters) : function.parameters;
    }
    if (function.strict && out.held_calls_param.empty()) {
      out.held_calls_param = fmt::format("tools[{}].function.strict", i);
    }
    spec.tools.push_back(std::move(tool));
  }
  if (spec.tools.empty()) return Refuse("tool_choice", "names '{}', which is not among the tools", choice.function);
  if (!out.parallel_tool_calls) out.held_calls_param = "parallel_tool_calls";
  if (forced) out.held_calls_param = "tool_choice";
  if (out.held_calls_param.empty()) return {};
  out.grammar = text::GrammarSpec{.kind = text::GrammarSpec::Kind::kToolCalls, .tool_calls = std::move(spec)};
  out.grammar_param = "tools";
  return {};
}

constexpr Field<ChatRequest> kChatFields[] = {
    {"messages", CustomField<ChatRequest>{TakeMessages}},
    {"max_completion_tokens", IntegerField<ChatRequest>{&ChatRequest::max_completion_tokens, 1, kMaxTokensAsked}},
    {"logprobs", BooleanField<ChatRequest>{&ChatRequest::logprobs}},
    {"top_logprobs", IntegerField<ChatRequest>{&ChatRequest::top_logprobs, 0, 20}},
    {"tools", CustomField<ChatRequest>{TakeTools}},
    {"tool_choice", CustomField<ChatRequest>{TakeToolChoice}},
    {"parallel_tool_calls", BooleanField<ChatRequest>{&ChatRequest::parallel_tool_calls}},
    {"modalities", NoOpField{"[\"text\"]"}},
    {"service_tier", NoOpField{"\"auto\""}},
    {"store", NoOpField{"false"}},
    {"metadata", NoOpField{}},
    {"audio", NoOpField{}},
    {"prediction", NoOpField{}},
    {"reasoning_effort", NoOpField{}},
    {"verbosity", NoOpField{}},
    {"web_search_options", NoOpField{}},
    {"functions", NoOpField{}},
    {"function_call", NoOpField{}},
};

}  // namespace

ApiResult<ChatRequest> ParseChatRequest(const json::object& body) {
  ChatRequest out;
  if (ApiStatus taken = ParseRequest<ChatRequest>(kChatFields, body, out); !taken) return Forward(taken);
  if (ApiStatus checked = CheckTogether(out); !checked) return Forward(checked);
  if (out.messages.empty()) return RefuseAs("missing_required_parameter", "messages", "'messages' is missing");
  if (out.top_logprobs && !out.logprobs) return Refuse("top_logprobs", "needs 'logprobs' to be true");
  if (out.max_completion_tokens) {
    if (out.max_tokens && out.max_tokens != out.max_completion_tokens) {
      return Refuse("max_tokens", "contradicts 'max_completion_tokens'; give one of them");
    }
    out.max_tokens = out.max_completion_tokens;
  }
  if (ApiStatus settled = ResolveTools(out); !settled) return Forward(settled);
  return out;
}

}  // namespace inferflux::server
