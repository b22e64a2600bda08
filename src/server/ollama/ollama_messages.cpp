#include "server/ollama/ollama_messages.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/request/fields.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kAnyBytes = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr size_t kMostOllamaMessages = 4096;
constexpr size_t kMostOllamaTools = 128;

struct PastCall {
  std::string id;
  std::string name;
  bool answered = false;
};

struct OllamaCall {
  std::string id;
  std::string type;
  std::string name;
  json::object arguments;
};

ApiStatus TakeCallArguments(const json::value& value, std::string_view param, OllamaCall& out) {
  return ReadObject(value, param).map([&](const json::object* arguments) { out.arguments = *arguments; });
}

ApiStatus TakeCallFunction(const json::value& value, std::string_view param, OllamaCall& out) {
  static constexpr Field<OllamaCall> kFields[] = {
      {"name", TextField<OllamaCall>{&OllamaCall::name, 256}},
      {"arguments", CustomField<OllamaCall>{TakeCallArguments}},
      {"index", IgnoredField{IgnoredField::Type::kNumber, "the order of the list counts"}},
      {"description", IgnoredField{IgnoredField::Type::kText, "it belongs to `tools`"}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  if (ApiStatus taken = ParseObject<OllamaCall>(kFields, param, **object, out); !taken) return taken;
  if (out.name.empty()) return Refuse(Join(param, "name"), "is missing");
  return {};
}

struct OllamaMessage {
  std::string role;
  std::optional<std::string> content;
  std::string thinking;
  std::string tool_name;
  std::string tool_call_id;
  std::vector<OllamaCall> calls;
};

ApiStatus TakeOllamaContent(const json::value& value, std::string_view param, OllamaMessage& out) {
  return ReadText(value, param, kAnyBytes).map([&](std::string text) { out.content = std::move(text); });
}

ApiStatus TakeOllamaCalls(const json::value& value, std::string_view param, OllamaMessage& out) {
  static constexpr Field<OllamaCall> kFields[] = {
      {"id", TextField<OllamaCall>{&OllamaCall::id, 256}},
      {"type", TextField<OllamaCall>{&OllamaCall::type, 64}},
      {"function", CustomField<OllamaCall>{TakeCallFunction}},
  };
  const auto list = ReadArray(value, param, kMostOllamaTools);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    OllamaCall call;
    if (ApiStatus taken = ParseObject<OllamaCall>(kFields, name, **object, call); !taken) return taken;
    if (call.name.empty()) return Refuse(Join(name, "function"), "is missing");
    out.calls.push_back(std::move(call));
  }
  return {};
}

ApiStatus TakeImages(const json::value& value, std::string_view param, OllamaMessage&) {
  if (value.is_array() && value.get_array().empty()) return {};
  return RefuseAs("unsupported_content", param, fmt::format("'{}' is not supported: no model here sees images", param));
}

constexpr Field<OllamaMessage> kOllamaMessageFields[] = {
    {"role", TextField<OllamaMessage>{&OllamaMessage::role, 64}},
    {"content", CustomField<OllamaMessage>{TakeOllamaContent}},
    {"thinking", TextField<OllamaMessage>{&OllamaMessage::thinking, kAnyBytes}},
    {"tool_calls", CustomField<OllamaMessage>{TakeOllamaCalls}},
    {"tool_name", TextField<OllamaMessage>{&OllamaMessage::tool_name, 256}},
    {"tool_call_id", TextField<OllamaMessage>{&OllamaMessage::tool_call_id, 256}},
    {"images", CustomField<OllamaMessage>{TakeImages}},
};

// The id of the call that a result answers.
std::string AnsweredCall(const OllamaMessage& message, std::vector<PastCall>& calls) {
  if (!message.tool_call_id.empty()) return message.tool_call_id;
  for (PastCall& call : calls) {
    if (call.answered || (!message.tool_name.empty() && call.name != message.tool_name)) continue;
    call.answered = true;
    return call.id;
  }
  return {};
}

json::object OllamaForTemplate(OllamaMessage message, std::vector<PastCall>& past) {
  json::object out;
  out["role"] = message.role;
  out["content"] = message.content.value_or("");
  if (!message.thinking.empty()) out["reasoning_content"] = message.thinking;
  if (message.role == "tool") {
    if (!message.tool_name.empty()) out["name"] = message.tool_name;
    out["tool_call_id"] = AnsweredCall(message, past);
  }
  json::array calls;
  for (OllamaCall& call : message.calls) {
    if (call.id.empty()) call.id = fmt::format("call_{}", past.size());
    past.push_back({call.id, call.name});
    json::object function;
    function["name"] = call.name;
    function["arguments"] = std::move(call.arguments);
    json::object one;
    one["id"] = call.id;
    one["type"] = "function";
    one["function"] = std::move(function);
    calls.push_back(std::move(one));
  }
  if (!calls.empty()) out["tool_calls"] = std::move(calls);
  return out;
}

// --- tools ---

struct OllamaTool {
  std::string type = "function";
  serving::OfferedFunction function;
};

ApiStatus TakeToolParameters(const json::value& value, std::string_view param, serving::OfferedFunction& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  out.parameters = json::serialize(**object);
  return {};
}

ApiStatus TakeToolFunction(const json::value& value, std::string_view param, OllamaTool& out) {
  using Function = serving::OfferedFunction;
  static constexpr Field<Function> kFields[] = {
      {"name", TextField<Function>{&Function::name, 128}},
      {"description", TextField<Function>{&Function::description, kAnyBytes}},
      {"parameters", CustomField<Function>{TakeToolParameters}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  if (ApiStatus taken = ParseObject<Function>(kFields, param, **object, out.function); !taken) return taken;
  if (out.function.name.empty()) return Refuse(Join(param, "name"), "is missing");
  return {};
}

}  // namespace

ApiResult<json::array> ReadOllamaMessages(const json::value& value, std::string_view param) {
  const auto list = ReadArray(value, param, kMostOllamaMessages);
  if (!list) return Forward(list);
  json::array out;
  std::vector<PastCall> past;
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    OllamaMessage message;
    if (ApiStatus taken = ParseObject<OllamaMessage>(kOllamaMessageFields, name, **object, message); !taken) {
      return Forward(taken);
    }
    const std::string& role = message.role;
    if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
      return Refuse(Join(name, "role"), "must be \"system\", \"user\", \"assistant\" or \"tool\"");
    }
    if (role != "assistant" && (!message.calls.empty() || !message.thinking.empty())) {
      return Refuse(Join(name, message.calls.empty() ? "thinking" : "tool_calls"),
                    "belongs to assistant messages only");
    }
    out.push_back(OllamaForTemplate(std::move(message), past));
  }
  return out;
}

ApiStatus ReadOllamaTools(const json::value& value, std::string_view param, serving::Chat& out) {
  static constexpr Field<OllamaTool> kFields[] = {
      {"type", TextField<OllamaTool>{&OllamaTool::type, 64}},
      {"function", CustomField<OllamaTool>{TakeToolFunction}},
  };
  const auto list = ReadArray(value, param, kMostOllamaTools);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    OllamaTool tool;
    if (ApiStatus taken = ParseObject<OllamaTool>(kFields, name, **object, tool); !taken) return taken;
    if (tool.type != "function") return Refuse(Join(name, "type"), "must be \"function\"");
    if (tool.function.name.empty()) return Refuse(Join(name, "function"), "is missing");
    json::object given = **object;
    given["type"] = "function";
    out.tools.push_back(std::move(given));
    out.functions.push_back(std::move(tool.function));
  }
  return {};
}

}  // namespace inferflux::server
