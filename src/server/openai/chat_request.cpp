#include "server/openai/chat_request.h"

#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

#include "server/openai/chat_messages.h"
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

// Tools are checked and then passed to the template unchanged.
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
    out.chat.functions.push_back(std::move(*tool.function));
  }
  out.chat.tools = **list;
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
      out.chat.tool_choice = {.kind = kind};
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
  out.chat.tool_choice = {.kind = Kind::kFunction, .function = std::move(named.function)};
  return {};
}

ApiStatus TakeParallelCalls(const json::value& value, std::string_view param, ChatRequest& out) {
  return ReadBoolean(value, param).map([&](bool several) { out.chat.parallel_tool_calls = several; });
}

ApiStatus TakeTopLogprobs(const json::value& value, std::string_view param, ChatRequest& out) {
  return ReadInteger(value, param, 0, 20).map([&](int64_t count) { out.top_logprobs = static_cast<int32_t>(count); });
}

constexpr Field<ChatRequest> kChatFields[] = {
    {"messages", CustomField<ChatRequest>{TakeMessages}},
    {"max_completion_tokens", CountField<ChatRequest>{&ChatRequest::max_completion_tokens, 1, kMaxTokensAsked}},
    {"logprobs", BooleanField<ChatRequest>{&ChatRequest::logprobs}},
    {"top_logprobs", CustomField<ChatRequest>{TakeTopLogprobs}},
    {"tools", CustomField<ChatRequest>{TakeTools}},
    {"tool_choice", CustomField<ChatRequest>{TakeToolChoice}},
    {"parallel_tool_calls", CustomField<ChatRequest>{TakeParallelCalls}},
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
  if (out.chat.messages.empty()) return RefuseAs("missing_required_parameter", "messages", "'messages' is missing");
  if (out.top_logprobs && !out.logprobs) return Refuse("top_logprobs", "needs 'logprobs' to be true");
  if (out.logprobs && !out.top_logprobs) out.top_logprobs = 0;
  if (out.max_completion_tokens > 0) {
    if (out.max_tokens > 0 && out.max_tokens != out.max_completion_tokens) {
      return Refuse("max_tokens", "contradicts 'max_completion_tokens'; give one of them");
    }
    out.max_tokens = out.max_completion_tokens;
  }
  if (auto resolved = serving::ResolveTools(out.chat, out); !resolved) {
    return tl::make_unexpected(FromGeneration(std::move(resolved.error()), out, "messages"));
  }
  return out;
}

}  // namespace inferflux::server
