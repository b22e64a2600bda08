#include "server/responses/input_items.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "server/reply/custom_tools.h"
#include "server/request/fields.h"
#include "server/request/json_body.h"
#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kAnyItemText = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr size_t kMostItems = 16'384;
constexpr size_t kMostParts = 1024;
using Type = IgnoredField::Type;
constexpr IgnoredField kOfAnAnswer = {Type::kAny, "it belongs to an earlier answer, and is not read"};

struct Item {
  std::string type;
  std::string id;
  std::string role;
  std::string call_id;
  std::string name;
  std::string arguments;
  std::optional<std::string> text;  // of a message, an output, or reasoning
  std::string summary;              // of reasoning
};

struct ItemPart {
  std::string type;
  std::string text;
};

// A string, or a list of parts with text. `types` are the kinds of parts that may be there.
ApiResult<std::string> ReadParts(const json::value& value, std::string_view param,
                                 std::span<const std::string_view> types) {
  static constexpr Field<ItemPart> kFields[] = {
      {"type", TextField<ItemPart>{&ItemPart::type, 64}},
      {"text", TextField<ItemPart>{&ItemPart::text, kAnyItemText}},
      {"refusal", TextField<ItemPart>{&ItemPart::text, kAnyItemText}},
      {"annotations", kOfAnAnswer},
      {"logprobs", kOfAnAnswer},
      {"parsed", kOfAnAnswer},
  };
  if (value.is_string()) return ReadText(value, param, kAnyItemText);
  const auto list = ReadArray(value, param, kMostParts);
  if (!list) return Forward(list);
  std::string out;
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    const json::value* type = (*object)->if_contains("type");
    bool known = false;
    for (const std::string_view one : types) known = known || (type != nullptr && *type == json::string(one));
    if (!known) {
      return RefuseAs(
          "unsupported_content", Join(name, "type"),
          fmt::format("'{}' must be text ({}); other content is not supported", Join(name, "type"), types.front()));
    }
    ItemPart part;
    if (ApiStatus taken = ParseObject<ItemPart>(kFields, name, **object, part); !taken) return Forward(taken);
    out += part.text;
  }
  return out;
}

constexpr std::string_view kMessageParts[] = {"input_text", "output_text", "text", "refusal"};
constexpr std::string_view kOutputParts[] = {"input_text", "output_text", "text"};
constexpr std::string_view kReasoningParts[] = {"reasoning_text", "text"};
constexpr std::string_view kSummaryParts[] = {"summary_text"};

ApiStatus TakeMessageText(const json::value& value, std::string_view param, Item& out) {
  return ReadParts(value, param, kMessageParts).map([&](std::string text) { out.text = std::move(text); });
}

ApiStatus TakeOutputText(const json::value& value, std::string_view param, Item& out) {
  return ReadParts(value, param, kOutputParts).map([&](std::string text) { out.text = std::move(text); });
}

ApiStatus TakeReasoningText(const json::value& value, std::string_view param, Item& out) {
  return ReadParts(value, param, kReasoningParts).map([&](std::string text) { out.text = std::move(text); });
}

ApiStatus TakeSummary(const json::value& value, std::string_view param, Item& out) {
  return ReadParts(value, param, kSummaryParts).map([&](std::string text) { out.summary = std::move(text); });
}

constexpr Field<Item> kItemType = {"type", TextField<Item>{&Item::type, 64}};
constexpr Field<Item> kItemId = {"id", TextField<Item>{&Item::id, 256}};
constexpr Field<Item> kItemStatus = {"status", kOfAnAnswer};

constexpr Field<Item> kMessageItem[] = {kItemType,
                                        kItemId,
                                        kItemStatus,
                                        {"role", TextField<Item>{&Item::role, 64}},
                                        {"phase", kOfAnAnswer},
                                        {"content", CustomField<Item>{TakeMessageText}}};
constexpr Field<Item> kCallItem[] = {kItemType,
                                     kItemId,
                                     kItemStatus,
                                     {"call_id", TextField<Item>{&Item::call_id, 256}},
                                     {"name", TextField<Item>{&Item::name, 256}},
                                     {"namespace", NoOpField{}},
                                     {"arguments", TextField<Item>{&Item::arguments, kAnyItemText}},
                                     {"parsed_arguments", kOfAnAnswer}};
constexpr Field<Item> kCallOutputItem[] = {kItemType,
                                           kItemId,
                                           kItemStatus,
                                           {"call_id", TextField<Item>{&Item::call_id, 256}},
                                           {"output", CustomField<Item>{TakeOutputText}}};
constexpr Field<Item> kCustomCallItem[] = {kItemType,
                                           kItemId,
                                           kItemStatus,
                                           {"call_id", TextField<Item>{&Item::call_id, 256}},
                                           {"name", TextField<Item>{&Item::name, 256}},
                                           {"namespace", NoOpField{}},
                                           {"input", TextField<Item>{&Item::arguments, kAnyItemText}}};
constexpr Field<Item> kReasoningItem[] = {kItemType,
                                          kItemId,
                                          kItemStatus,
                                          {"summary", CustomField<Item>{TakeSummary}},
                                          {"content", CustomField<Item>{TakeReasoningText}},
                                          {"encrypted_content", kOfAnAnswer}};

struct ItemKind {
  std::string_view type;
  std::span<const Field<Item>> fields;
  std::string_view id_prefix;
};
constexpr ItemKind kItemKinds[] = {{"message", kMessageItem, "msg_"},
                                   {"function_call", kCallItem, "fc_"},
                                   {"function_call_output", kCallOutputItem, "fco_"},
                                   {"custom_tool_call", kCustomCallItem, "ctc_"},
                                   {"custom_tool_call_output", kCallOutputItem, "ctco_"},
                                   {"reasoning", kReasoningItem, "rs_"}};

ApiStatus CheckItem(const Item& item, std::string_view param) {
  const auto missing = [&](std::string_view name) { return Refuse(Join(param, name), "is missing"); };
  if (item.type == "message") {
    const std::string& role = item.role;
    if (role != "user" && role != "system" && role != "developer" && role != "assistant") {
      return Refuse(Join(param, "role"), "must be \"user\", \"system\", \"developer\" or \"assistant\"");
    }
    if (!item.text) return missing("content");
  } else if (item.type != "reasoning") {
    if (item.call_id.empty()) return missing("call_id");
    if (item.type.ends_with("_output") && !item.text) return missing("output");
    if (item.type == "custom_tool_call" && item.name.empty()) return missing("name");
    if (item.type == "function_call") {
      if (item.name.empty()) return missing("name");
      if (!item.arguments.empty() && !ParseJsonBody(item.arguments)) {
        return Refuse(Join(param, "arguments"), "must be the text of a JSON object");
      }
    }
  }
  return {};
}

// The item as it is listed.
json::object Listed(const Item& item) {
  json::object out;
  out["id"] = item.id;
  out["type"] = item.type;
  out["status"] = "completed";
  if (item.type == "message") {
    const bool answer = item.role == "assistant";
    json::object part;
    part["type"] = answer ? "output_text" : "input_text";
    part["text"] = *item.text;
    if (answer) part["annotations"] = json::array();
    out["role"] = item.role;
    out["content"] = json::array{json::value(std::move(part))};
  } else if (item.type == "reasoning") {
    out.erase("status");
    out["summary"] = json::array();
    const std::string& text = item.text ? *item.text : item.summary;
    out["content"] = json::array{json::value(json::object{{"type", "reasoning_text"}, {"text", text}})};
  } else {
    out["call_id"] = item.call_id;
    if (item.type == "function_call") {
      out["name"] = item.name;
      out["arguments"] = item.arguments.empty() ? "{}" : item.arguments;
    } else if (item.type == "custom_tool_call") {
      out["name"] = item.name;
      out["input"] = item.arguments;
    } else {
      out["output"] = *item.text;
    }
  }
  return out;
}

ApiResult<json::object> ReadItem(const json::value& value, const std::string& param) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  const json::value* given = (*object)->if_contains("type");
  std::string type = "message";
  if (given != nullptr && !given->is_null()) {
    ApiResult<std::string> read = ReadText(*given, Join(param, "type"), 64);
    if (!read) return Forward(read);
    type = std::move(*read);
  }
  for (const ItemKind& kind : kItemKinds) {
    if (kind.type != type) continue;
    Item item;
    if (ApiStatus taken = ParseObject<Item>(kind.fields, param, **object, item); !taken) return Forward(taken);
    item.type = type;
    if (item.id.empty()) item.id = UniqueId(kind.id_prefix);
    if (ApiStatus checked = CheckItem(item, param); !checked) return Forward(checked);
    return Listed(item);
  }
  return RefuseAs("unsupported_content", Join(param, "type"),
                  fmt::format("'{}' is \"{}\"; this server takes message, function_call, function_call_output, "
                              "custom_tool_call, custom_tool_call_output and reasoning items",
                              Join(param, "type"), type));
}

std::string PartsText(const json::value& parts) {
  if (parts.is_string()) return std::string(parts.get_string());
  std::string out;
  for (const json::value& part : parts.as_array()) out += part.at("text").as_string();
  return out;
}

// The assistant's message that an item of an answer belongs to: the last one, or a new one.
json::object& AnswerIn(json::array& messages, bool new_one) {
  if (new_one || messages.empty() || messages.back().at("role") != "assistant") {
    messages.push_back({{"role", "assistant"}, {"content", ""}});
  }
  return messages.back().as_object();
}

}  // namespace

namespace {

// A call of an answer may have been cut, or be no JSON: the model sees what there is of it.
json::value ArgumentsOf(std::string_view text) {
  auto arguments = ParseJsonBody(text);
  return arguments ? json::value(std::move(*arguments)) : json::value(text);
}

}  // namespace

json::array MessagesOfItems(const json::array& items) {
  json::array out;
  bool reasoned = false;  // the last message has only reasoning yet
  for (const json::value& value : items) {
    const json::object& item = value.as_object();
    const json::string& type = item.at("type").as_string();
    if (type == "reasoning") {
      const json::value* content = item.if_contains("content");
      if (content == nullptr || content->as_array().empty()) continue;
      AnswerIn(out, true)["reasoning_content"] = PartsText(*content);
      reasoned = true;
      continue;
    }
    if (type == "message" && item.at("role") == "assistant") {
      json::object& answer = AnswerIn(out, !reasoned);
      answer["content"] = PartsText(item.at("content"));
    } else if (type == "message") {
      const bool system = item.at("role") == "system" || item.at("role") == "developer";
      const std::string_view role = system ? std::string_view("system") : std::string_view(item.at("role").as_string());
      out.push_back({{"role", role}, {"content", PartsText(item.at("content"))}});
    } else if (type == "function_call" || type == "custom_tool_call") {
      json::object& answer = AnswerIn(out, false);
      if (!answer.contains("tool_calls")) answer["tool_calls"] = json::array();
      json::object function;
      function["name"] = item.at("name");
      const bool custom = type == "custom_tool_call";
      function["arguments"] = custom ? json::value(ArgumentsOfCustom(item.at("input").as_string()))
                                     : ArgumentsOf(item.at("arguments").as_string());
      json::object call;
      call["id"] = item.at("call_id");
      call["type"] = "function";
      call["function"] = std::move(function);
      answer["tool_calls"].as_array().push_back(std::move(call));
    } else {
      out.push_back(
          {{"role", "tool"}, {"tool_call_id", item.at("call_id")}, {"content", PartsText(item.at("output"))}});
    }
    reasoned = false;
  }
  return out;
}

ApiResult<InputItems> ReadInputItems(const json::value& value, std::string_view param) {
  InputItems out;
  if (value.is_string()) {
    const Item item{.type = "message", .id = UniqueId("msg_"), .role = "user", .text = std::string(value.get_string())};
    out.items.push_back(Listed(item));
  } else {
    const auto list = ReadArray(value, param, kMostItems);
    if (!list) return Forward(list);
    for (size_t i = 0; i < (*list)->size(); ++i) {
      auto item = ReadItem((**list)[i], fmt::format("{}[{}]", param, i));
      if (!item) return Forward(item);
      out.items.push_back(std::move(*item));
    }
  }
  out.messages = MessagesOfItems(out.items);
  return out;
}

}  // namespace inferflux::server
