#include "server/anthropic/message_blocks.h"

#include <boost/json/object.hpp>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "server/request/fields.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kAnyText = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr size_t kMostMessages = 100'000;
constexpr size_t kMostBlocks = 4096;
constexpr size_t kMostNameBytes = 256;

// The fields of all kinds of blocks. Each kind's reader checks which fields are allowed.
struct Block {
  std::string type;
  std::optional<std::string> text;
  std::string thinking;
  std::string id;
  std::string name;
  std::string tool_use_id;
  std::optional<json::object> input;
  std::optional<std::string> result;  // the content of a tool_result
  bool is_error = false;
};

// Marks a prefix for Anthropic's prompt cache. Ignored: this server caches prefixes without it.
ApiStatus TakeCacheControl(const json::value& value, std::string_view param, Block&) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  return {};
}

ApiStatus TakeText(const json::value& value, std::string_view param, Block& out) {
  return ReadText(value, param, kAnyText).map([&](std::string text) { out.text = std::move(text); });
}

ApiStatus TakeInput(const json::value& value, std::string_view param, Block& out) {
  return ReadObject(value, param).map([&](const json::object* input) { out.input = *input; });
}

ApiStatus TakeResult(const json::value& value, std::string_view param, Block& out) {
  return ReadTextBlocks(value, param).map([&](std::string text) { out.result = std::move(text); });
}

constexpr Field<Block> kType = {"type", TextField<Block>{&Block::type, kMostNameBytes}};
constexpr Field<Block> kCacheControl = {"cache_control", CustomField<Block>{TakeCacheControl}};

constexpr Field<Block> kTextFields[] = {
    kType, kCacheControl, {"text", CustomField<Block>{TakeText}}, {"citations", NoOpField{"[]"}}};
constexpr Field<Block> kToolUseFields[] = {kType,
                                           kCacheControl,
                                           {"id", TextField<Block>{&Block::id, kMostNameBytes}},
                                           {"name", TextField<Block>{&Block::name, kMostNameBytes}},
                                           {"input", CustomField<Block>{TakeInput}},
                                           {"caller", NoOpField{R"({"type":"direct"})"}},
                                           {"toolset_name", NoOpField{}}};
constexpr Field<Block> kToolResultFields[] = {kType,
                                              kCacheControl,
                                              {"tool_use_id", TextField<Block>{&Block::tool_use_id, kMostNameBytes}},
                                              {"content", CustomField<Block>{TakeResult}},
                                              {"is_error", BooleanField<Block>{&Block::is_error}},
                                              {"toolset_name", NoOpField{}}};
constexpr Field<Block> kThinkingFields[] = {kType,
                                            {"thinking", TextField<Block>{&Block::thinking, kAnyText}},
                                            // The signature is not checked: no answer depends on it.
                                            {"signature", TextField<Block>{&Block::id, kAnyText}}};
constexpr Field<Block> kRedactedFields[] = {kType, {"data", TextField<Block>{&Block::id, kAnyText}}};

struct BlockKind {
  std::string_view type;
  std::span<const Field<Block>> fields;
  std::string_view role;  // the role whose messages may contain it; empty: any
};
constexpr BlockKind kKinds[] = {{"text", kTextFields, ""},
                                {"tool_use", kToolUseFields, "assistant"},
                                {"tool_result", kToolResultFields, "user"},
                                {"thinking", kThinkingFields, "assistant"},
                                {"redacted_thinking", kRedactedFields, "assistant"}};

ApiStatus CheckBlock(const Block& block, std::string_view param) {
  const auto missing = [&](std::string_view name) { return Refuse(Join(param, name), "is missing"); };
  if (block.type == "text" && !block.text) return missing("text");
  if (block.type == "tool_use") {
    if (block.id.empty()) return missing("id");
    if (block.name.empty()) return missing("name");
    if (!block.input) return missing("input");
  }
  if (block.type == "tool_result" && block.tool_use_id.empty()) return missing("tool_use_id");
  return {};
}

ApiResult<Block> ReadBlock(const json::value& value, std::string_view param, std::string_view role) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  const json::value* found = (*object)->if_contains("type");
  if (found == nullptr) return Refuse(Join(param, "type"), "is missing");
  const ApiResult<std::string> type = ReadText(*found, Join(param, "type"), kMostNameBytes);
  if (!type) return Forward(type);
  for (const BlockKind& kind : kKinds) {
    if (*type != kind.type) continue;
    if (!kind.role.empty() && kind.role != role) {
      return Refuse(Join(param, "type"), "is \"{}\", which belongs to {} messages only", kind.type, kind.role);
    }
    Block out;
    if (ApiStatus taken = ParseObject<Block>(kind.fields, param, **object, out); !taken) return Forward(taken);
    if (ApiStatus checked = CheckBlock(out, param); !checked) return Forward(checked);
    return out;
  }
  return RefuseAs("unsupported_content", Join(param, "type"),
                  fmt::format("'{}' must be \"text\", \"tool_use\", \"tool_result\", \"thinking\" or "
                              "\"redacted_thinking\"; other content is not supported",
                              Join(param, "type")));
}

// A string is short for one text block.
ApiResult<std::vector<Block>> ReadBlocks(const json::value& value, std::string_view param, std::string_view role) {
  std::vector<Block> out;
  if (value.is_string()) {
    out.push_back({.type = "text", .text = std::string(value.get_string())});
    return out;
  }
  const auto list = ReadArray(value, param, kMostBlocks);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    auto block = ReadBlock((**list)[i], fmt::format("{}[{}]", param, i), role);
    if (!block) return Forward(block);
    out.push_back(std::move(*block));
  }
  return out;
}

void AppendText(const std::string& text, std::string& out) {
  if (!out.empty() && !text.empty()) out += "\n\n";
  out += text;
}

// Tool results become separate messages, before or after the text that came with them.
void AppendUser(std::vector<Block> blocks, json::array& out) {
  std::string text;
  bool any = false;
  const auto flush = [&] {
    if (any) out.push_back({{"role", "user"}, {"content", text}});
    text.clear();
    any = false;
  };
  for (Block& block : blocks) {
    if (block.type == "tool_result") {
      flush();
      std::string result = block.result.value_or("");
      if (block.is_error) result = result.empty() ? "Error" : "Error: " + result;
      out.push_back({{"role", "tool"}, {"tool_call_id", block.tool_use_id}, {"content", result}});
    } else {
      AppendText(*block.text, text);
      any = true;
    }
  }
  flush();
}

void AppendAssistant(std::vector<Block> blocks, json::array& out) {
  std::string text, thinking;
  json::array calls;
  for (Block& block : blocks) {
    if (block.text) AppendText(*block.text, text);
    AppendText(block.thinking, thinking);
    if (block.type != "tool_use") continue;
    json::object function;
    function["name"] = block.name;
    function["arguments"] = std::move(*block.input);
    json::object call;
    call["id"] = block.id;
    call["type"] = "function";
    call["function"] = std::move(function);
    calls.push_back(std::move(call));
  }
  json::object message;
  message["role"] = "assistant";
  message["content"] = text;
  if (!thinking.empty()) message["reasoning_content"] = thinking;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  out.push_back(std::move(message));
}

struct AnthropicMessage {
  std::string role;
  const json::value* content = nullptr;
};

ApiStatus TakeMessageContent(const json::value& value, std::string_view, AnthropicMessage& out) {
  out.content = &value;
  return {};
}

constexpr Field<AnthropicMessage> kAnthropicMessageFields[] = {
    {"role", TextField<AnthropicMessage>{&AnthropicMessage::role, kMostNameBytes}},
    {"content", CustomField<AnthropicMessage>{TakeMessageContent}},
};

ApiStatus AppendMessage(const json::value& value, const std::string& param, bool last, json::array& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  AnthropicMessage message;
  if (ApiStatus taken = ParseObject<AnthropicMessage>(kAnthropicMessageFields, param, **object, message); !taken) {
    return taken;
  }
  if (message.role != "user" && message.role != "assistant" && message.role != "system") {
    return Refuse(Join(param, "role"), "must be \"user\", \"assistant\" or \"system\"");
  }
  if (message.content == nullptr) return Refuse(Join(param, "content"), "is missing");
  if (message.role == "system") {
    return ReadTextBlocks(*message.content, Join(param, "content")).map([&](const std::string& text) {
      out.push_back({{"role", "system"}, {"content", text}});
    });
  }
  auto blocks = ReadBlocks(*message.content, Join(param, "content"), message.role);
  if (!blocks) return Forward(blocks);
  if (message.role == "user") {
    if (blocks->empty()) return Refuse(Join(param, "content"), "must not be empty");
    AppendUser(std::move(*blocks), out);
    return {};
  }
  if (last) {
    return RefuseAs("unsupported_parameter", param,
                    fmt::format("'{}' is the assistant's, and going on with its text is not supported; end with a user "
                                "message",
                                param));
  }
  AppendAssistant(std::move(*blocks), out);
  return {};
}

}  // namespace

ApiResult<std::string> ReadTextBlocks(const json::value& value, std::string_view param) {
  const auto blocks = ReadBlocks(value, param, "");
  if (!blocks) return Forward(blocks);
  std::string out;
  for (const Block& block : *blocks) AppendText(*block.text, out);  // other kinds have a role
  return out;
}

ApiResult<json::array> ReadAnthropicMessages(const json::value& value, std::string_view param) {
  const auto list = ReadArray(value, param, kMostMessages);
  if (!list) return Forward(list);
  if ((*list)->empty()) return Refuse(param, "must hold at least one message");
  json::array out;
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const bool last = i + 1 == (*list)->size();
    if (ApiStatus added = AppendMessage((**list)[i], fmt::format("{}[{}]", param, i), last, out); !added) {
      return Forward(added);
    }
  }
  return out;
}

}  // namespace inferflux::server
