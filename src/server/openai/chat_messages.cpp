#include "server/openai/chat_messages.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "server/reply/custom_tools.h"
#include "server/request/fields.h"
#include "server/request/json_body.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kAnyLength = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr size_t kMaxNameBytes = 256;

enum class Role { kSystem, kUser, kAssistant, kTool };

struct ContentPart {
  std::string type;
  std::string text;
};

constexpr IgnoredField kCacheMark = {IgnoredField::Type::kObject, "every prompt is cached"};  // of Anthropic's clients

constexpr Field<ContentPart> kPartFields[] = {
    {"cache_control", kCacheMark},
    {"type", TextField<ContentPart>{&ContentPart::type, kMaxNameBytes}},
    {"text", TextField<ContentPart>{&ContentPart::text, kAnyLength}},
};

}  // namespace

ApiResult<std::string> ReadTextContent(const json::value& value, std::string_view param) {
  if (!value.is_array()) return ReadText(value, param, kAnyLength);
  const auto parts = ReadArray(value, param, kMaxContentParts);
  if (!parts) return Forward(parts);
  std::string out;
  for (size_t i = 0; i < (*parts)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**parts)[i], name);
    if (!object) return Forward(object);
    const json::value* type = (*object)->if_contains("type");
    if (type == nullptr || *type != "text") {
      return RefuseAs("unsupported_content", Join(name, "type"),
                      fmt::format("'{}' must be \"text\"; other content is not supported", Join(name, "type")));
    }
    if (!(*object)->contains("text")) return Refuse(Join(name, "text"), "is missing");
    ContentPart part;
    if (ApiStatus taken = ParseObject<ContentPart>(kPartFields, name, **object, part); !taken) return Forward(taken);
    out += part.text;
  }
  return out;
}

namespace {

struct CalledFunction {
  std::string name;
  json::value arguments = json::object();
};

ApiStatus TakeArguments(const json::value& value, std::string_view param, CalledFunction& out) {
  if (value.is_object()) {  // not OpenAI's form, but that of many clients
    out.arguments = value;
    return {};
  }
  const ApiResult<std::string> text = ReadText(value, param, kAnyLength);
  if (!text) return Forward(text);
  if (text->empty()) return {};
  ApiResult<json::object> arguments = ParseJsonBody(*text);
  if (!arguments) return Refuse(param, "must be the text of a JSON object");
  out.arguments = std::move(*arguments);
  return {};
}

constexpr Field<CalledFunction> kCalledFunctionFields[] = {
    {"name", TextField<CalledFunction>{&CalledFunction::name, kMaxNameBytes}},
    {"arguments", CustomField<CalledFunction>{TakeArguments}},
};

struct ToolCall {
  std::string id;
  std::string type = "function";
  json::object function;
  bool is_custom = false;
};

ApiStatus TakeFunction(const json::value& value, std::string_view param, ToolCall& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  CalledFunction function;
  if (ApiStatus taken = ParseObject<CalledFunction>(kCalledFunctionFields, param, **object, function); !taken)
    return taken;
  if (function.name.empty()) return Refuse(Join(param, "name"), "is missing");
  out.function["name"] = function.name;
  out.function["arguments"] = std::move(function.arguments);
  return {};
}

struct CalledCustom {
  std::string name;
  std::string input;
};

// As the model called it: see custom_tools.h.
ApiStatus TakeCalledCustom(const json::value& value, std::string_view param, ToolCall& out) {
  static constexpr Field<CalledCustom> kFields[] = {
      {"name", TextField<CalledCustom>{&CalledCustom::name, kMaxNameBytes}},
      {"input", TextField<CalledCustom>{&CalledCustom::input, kAnyLength}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  CalledCustom custom;
  if (ApiStatus taken = ParseObject<CalledCustom>(kFields, param, **object, custom); !taken) return taken;
  if (custom.name.empty()) return Refuse(Join(param, "name"), "is missing");
  out.function["name"] = custom.name;
  out.function["arguments"] = ArgumentsOfCustom(custom.input);
  out.is_custom = true;
  return {};
}

constexpr Field<ToolCall> kCallFields[] = {
    {"id", TextField<ToolCall>{&ToolCall::id, kMaxNameBytes}},
    {"type", TextField<ToolCall>{&ToolCall::type, kMaxNameBytes}},
    {"function", CustomField<ToolCall>{TakeFunction}},
    {"custom", CustomField<ToolCall>{TakeCalledCustom}},
    {"index", IgnoredField{IgnoredField::Type::kNumber, "calls are in order"}},  // joined deltas of a stream have it
    {"cache_control", kCacheMark},
};

ApiResult<json::array> ReadToolCalls(const json::value& value, std::string_view param) {
  const auto list = ReadArray(value, param, kMaxContentParts);
  if (!list) return Forward(list);
  json::array out;
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    ToolCall call;
    if (ApiStatus taken = ParseObject<ToolCall>(kCallFields, name, **object, call); !taken) return Forward(taken);
    if (call.type != "function" && call.type != "custom") {
      return Refuse(Join(name, "type"), "must be \"function\" or \"custom\"");
    }
    if (call.function.empty() || call.is_custom != (call.type == "custom")) {
      return Refuse(Join(name, call.type), "is missing");
    }
    json::object plain;
    plain["id"] = call.id;
    plain["type"] = "function";
    plain["function"] = std::move(call.function);
    out.push_back(std::move(plain));
  }
  return out;
}

struct Message {
  std::optional<Role> role;
  std::string role_name;
  std::optional<std::string> content;
  std::string name;
  std::string tool_call_id;
  std::optional<json::array> tool_calls;
  std::string reasoning;
};

ApiStatus TakeRole(const json::value& value, std::string_view param, Message& out) {
  static constexpr std::pair<std::string_view, Role> kRoles[] = {{"system", Role::kSystem},
                                                                 {"developer", Role::kSystem},
                                                                 {"user", Role::kUser},
                                                                 {"assistant", Role::kAssistant},
                                                                 {"tool", Role::kTool}};
  const ApiResult<std::string> text = ReadText(value, param, kMaxNameBytes);
  if (!text) return Forward(text);
  for (const auto& [name, role] : kRoles) {
    if (name != *text) continue;
    out.role = role;
    out.role_name = role == Role::kSystem ? "system" : *text;
    return {};
  }
  return Refuse(param, "must be system, developer, user, assistant or tool, but is '{}'", *text);
}

ApiStatus TakeContent(const json::value& value, std::string_view param, Message& out) {
  ApiResult<std::string> content = ReadTextContent(value, param);
  if (!content) return Forward(content);
  out.content = std::move(*content);
  return {};
}

ApiStatus TakeToolCalls(const json::value& value, std::string_view param, Message& out) {
  ApiResult<json::array> calls = ReadToolCalls(value, param);
  if (!calls) return Forward(calls);
  out.tool_calls = std::move(*calls);
  return {};
}

constexpr Field<Message> kMessageFields[] = {
    {"role", CustomField<Message>{TakeRole}},
    {"content", CustomField<Message>{TakeContent}},
    {"name", TextField<Message>{&Message::name, kMaxNameBytes}},
    {"tool_call_id", TextField<Message>{&Message::tool_call_id, kMaxNameBytes}},
    {"tool_calls", CustomField<Message>{TakeToolCalls}},
    {"reasoning_content", TextField<Message>{&Message::reasoning, kAnyLength}},
    {"reasoning", TextField<Message>{&Message::reasoning, kAnyLength}},
    {"refusal", NoOpField{}},
    {"audio", NoOpField{}},
    {"function_call", NoOpField{}},
    {"cache_control", kCacheMark},
    {"annotations", NoOpField{"[]"}},  // clients send answers back unchanged
};

ApiStatus CheckMessage(const Message& message, std::string_view param) {
  if (!message.role) return Refuse(Join(param, "role"), "is missing");
  const bool assistant = *message.role == Role::kAssistant;
  const bool calls = message.tool_calls && !message.tool_calls->empty();
  if (message.tool_calls && !assistant) return Refuse(Join(param, "tool_calls"), "belongs to assistant messages only");
  if (!message.reasoning.empty() && !assistant) {
    return Refuse(Join(param, "reasoning_content"), "belongs to assistant messages only");
  }
  if (!message.content && !calls && message.reasoning.empty()) return Refuse(Join(param, "content"), "is missing");
  if (!message.tool_call_id.empty() && *message.role != Role::kTool) {
    return Refuse(Join(param, "tool_call_id"), "belongs to tool messages only");
  }
  return {};
}

json::object ForTemplate(Message message) {
  json::object out;
  out["role"] = message.role_name;
  out["content"] = message.content.value_or("");
  if (!message.name.empty()) out["name"] = message.name;
  if (!message.reasoning.empty()) out["reasoning_content"] = message.reasoning;
  if (!message.tool_call_id.empty()) out["tool_call_id"] = message.tool_call_id;
  if (message.tool_calls && !message.tool_calls->empty()) out["tool_calls"] = std::move(*message.tool_calls);
  return out;
}

}  // namespace

ApiResult<json::array> ParseMessages(const json::value& value, std::string_view param) {
  const auto list = ReadArray(value, param, kMaxMessages);
  if (!list) return Forward(list);
  if ((*list)->empty()) return Refuse(param, "must hold at least one message");
  json::array out;
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    Message message;
    if (ApiStatus taken = ParseObject<Message>(kMessageFields, name, **object, message); !taken) return Forward(taken);
    if (ApiStatus checked = CheckMessage(message, name); !checked) return Forward(checked);
    out.push_back(ForTemplate(std::move(message)));
  }
  return out;
}

}  // namespace inferflux::server
