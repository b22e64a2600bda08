#include "server/chat_request.h"

#include <limits>
#include <utility>

#include "server/chat_messages.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kMaxTools = 128;

ApiStatus TakeMessages(const json::value& value, std::string_view param, ChatRequest& out) {
  ApiResult<json::array> messages = ParseMessages(value, param);
  if (!messages) return Forward(messages);
  out.messages = std::move(*messages);
  return {};
}

struct OfferedFunction {
  std::string name;
  std::string description;
};

ApiStatus TakeParameters(const json::value& value, std::string_view param, OfferedFunction&) {
  const auto object = ReadObject(value, param);
  return object ? ApiStatus() : tl::make_unexpected(object.error());
}

constexpr Field<OfferedFunction> kFunctionFields[] = {
    {"name", TextField<OfferedFunction>{&OfferedFunction::name, 64}},
    {"description", TextField<OfferedFunction>{&OfferedFunction::description, std::numeric_limits<size_t>::max()}},
    {"parameters", CustomField<OfferedFunction>{TakeParameters}},
    {"strict", NeutralField{"false"}},
};

struct OfferedTool {
  std::string type;
  bool has_function = false;
};

ApiStatus TakeFunction(const json::value& value, std::string_view param, OfferedTool& out) {
  const auto object = ReadObject(value, param);
  if (!object) return tl::make_unexpected(object.error());
  OfferedFunction function;
  if (ApiStatus taken = TakeObject<OfferedFunction>(kFunctionFields, param, **object, function); !taken) return taken;
  if (function.name.empty()) return Refuse(Join(param, "name"), "is missing");
  out.has_function = true;
  return {};
}

constexpr Field<OfferedTool> kToolFields[] = {
    {"type", TextField<OfferedTool>{&OfferedTool::type, 64}},
    {"function", CustomField<OfferedTool>{TakeFunction}},
};

// Tools are checked, and then go to the template as they came.
ApiStatus TakeTools(const json::value& value, std::string_view param, ChatRequest& out) {
  const auto list = ReadArray(value, param, kMaxTools);
  if (!list) return tl::make_unexpected(list.error());
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return tl::make_unexpected(object.error());
    OfferedTool tool;
    if (ApiStatus taken = TakeObject<OfferedTool>(kToolFields, name, **object, tool); !taken) return taken;
    if (tool.type != "function") return Refuse(Join(name, "type"), "must be \"function\"");
    if (!tool.has_function) return Refuse(Join(name, "function"), "is missing");
  }
  out.tools = **list;
  return {};
}

ApiStatus TakeToolChoice(const json::value& value, std::string_view param, ChatRequest& out) {
  if (value == "auto" || value == "none") {
    out.may_call_tools = value == "auto";
    return {};
  }
  return RefuseAs("unsupported_parameter", param,
                  fmt::format("'{}' must be \"auto\" or \"none\"; to force a call is not supported yet", param));
}

using R = ChatRequest;
constexpr Field<R> kTable[] = {
    {"messages", CustomField<R>{TakeMessages}},
    {"max_completion_tokens", IntegerField<R>{&R::max_completion_tokens, 1, kMaxTokensAsked}},
    {"logprobs", BooleanField<R>{&R::logprobs}},
    {"top_logprobs", IntegerField<R>{&R::top_logprobs, 0, 20}},
    {"tools", CustomField<R>{TakeTools}},
    {"tool_choice", CustomField<R>{TakeToolChoice}},
    {"parallel_tool_calls", NeutralField{"true"}},
    {"modalities", NeutralField{"[\"text\"]"}},
    {"service_tier", NeutralField{"\"auto\""}},
    {"store", NeutralField{"false"}},
    {"metadata", NeutralField{}},
    {"audio", NeutralField{}},
    {"prediction", NeutralField{}},
    {"reasoning_effort", NeutralField{}},
    {"verbosity", NeutralField{}},
    {"web_search_options", NeutralField{}},
    {"functions", NeutralField{}},
    {"function_call", NeutralField{}},
};

}  // namespace

ApiResult<ChatRequest> ParseChatRequest(const json::object& body) {
  ChatRequest out;
  if (ApiStatus taken = TakeRequest<ChatRequest>(kTable, body, out); !taken) return Forward(taken);
  if (ApiStatus checked = CheckTogether(out); !checked) return Forward(checked);
  if (out.messages.empty()) return RefuseAs("missing_required_parameter", "messages", "'messages' is missing");
  if (out.top_logprobs && !out.logprobs) return Refuse("top_logprobs", "needs 'logprobs' to be true");
  if (out.max_completion_tokens) {
    if (out.max_tokens && out.max_tokens != out.max_completion_tokens) {
      return Refuse("max_tokens", "contradicts 'max_completion_tokens'; give one of them");
    }
    out.max_tokens = out.max_completion_tokens;
  }
  if (!out.may_call_tools) out.tools.clear();
  if (!out.tools.empty() && out.grammar) {
    return Refuse(out.grammar_param, "leaves no room for the call of a tool; set 'tool_choice' to \"none\"");
  }
  return out;
}

}  // namespace inferflux::server
