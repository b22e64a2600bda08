#include "text/tool_calls/past_calls.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kShortId = 9;

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

void Shorten(json::object& holder, std::string_view key) {
  json::value* id = holder.if_contains(key);
  if (id != nullptr && id->is_string()) *id = ShortId(id->get_string());
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
}

}  // namespace inferflux::text
