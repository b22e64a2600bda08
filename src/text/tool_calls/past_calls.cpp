#include "text/tool_calls/past_calls.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <utility>

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kShortId = 9;

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

void Shorten(json::object& holder, std::string_view key) {
  json::value* id = holder.if_contains(key);
  if (id != nullptr && id->is_string()) *id = ShortId(id->get_string());
}

std::string_view Text(const json::object& holder, std::string_view key) {
  const json::value* value = holder.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

// The function of a result: that of the call with its id, or of the next call.
std::string_view FunctionOf(const json::object& result, const json::array& calls, size_t next) {
  const json::object* call = next < calls.size() ? &calls[next].as_object() : nullptr;
  for (const json::value& one : calls) {
    const std::string_view id = Text(one.as_object(), "id");
    if (!id.empty() && id == Text(result, "tool_call_id")) call = &one.as_object();
  }
  const json::value* function = call == nullptr ? nullptr : call->if_contains("function");
  return function == nullptr ? Text(result, "name") : Text(function->as_object(), "name");
}

// Moves results into the message that calls for them.
void JoinResults(json::array& messages) {
  json::array out;
  json::array* results = nullptr;
  for (json::value& value : messages) {
    json::object& message = value.as_object();
    if (results != nullptr && Text(message, "role") == "tool") {
      const json::object& caller = out.back().as_object();
      boost::system::error_code error;
      json::value response = json::parse(Text(message, "content"), error);
      if (error || !response.is_object()) response = Text(message, "content");
      results->push_back({{"name", FunctionOf(message, caller.at("tool_calls").as_array(), results->size())},
                          {"response", std::move(response)}});
      continue;
    }
    out.push_back(std::move(value));
    json::object& last = out.back().as_object();
    const bool calls = last.contains("tool_calls");
    results = calls ? &(last["tool_responses"] = json::array()).as_array() : nullptr;
  }
  messages = std::move(out);
}

}  // namespace

std::string ShortId(std::string_view id) {
  if (id.size() == kShortId && std::ranges::all_of(id, IsLetterOrDigit)) return std::string(id);
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3ULL;
  std::string out;
  for (; out.size() < kShortId; hash /= kDigits.size()) out += kDigits[hash % kDigits.size()];
  return out;
}

void AdaptPastCalls(const TemplateCalls& calls, json::array& messages) {
  for (json::value& value : messages) {
    json::object& message = value.as_object();
    if (calls.short_ids) Shorten(message, "tool_call_id");
    json::value* list = message.if_contains("tool_calls");
    if (list == nullptr) continue;
    json::value* content = message.if_contains("content");
    if (calls.null_content && content != nullptr && *content == "") *content = nullptr;
    for (json::value& call : list->as_array()) {
      if (calls.short_ids) Shorten(call.as_object(), "id");
      if (!calls.text_arguments) continue;
      json::value* function = call.as_object().if_contains("function");
      json::value* arguments = function == nullptr ? nullptr : function->as_object().if_contains("arguments");
      if (arguments != nullptr) *arguments = json::serialize(*arguments);
    }
  }
  if (calls.joint_results) JoinResults(messages);
}

}  // namespace inferflux::text
