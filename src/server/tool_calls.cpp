#include "server/tool_calls.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "text/grammar/tool_call_grammar.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr std::string_view kOpen = text::kToolCallOpen;
constexpr std::string_view kClose = text::kToolCallClose;
constexpr std::string_view kSpace = " \t\r\n";

std::optional<FoundToolCall> ParseCall(std::string_view body) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  if (error || !value.is_object()) return std::nullopt;
  const json::value* name = value.get_object().if_contains("name");
  const json::value* arguments = value.get_object().if_contains("arguments");
  if (name == nullptr || !name->is_string()) return std::nullopt;
  if (arguments != nullptr && !arguments->is_object()) return std::nullopt;
  return FoundToolCall{std::string(name->get_string()), arguments == nullptr ? "{}" : json::serialize(*arguments)};
}

// How many bytes at the end of `text` may be the beginning of a tag, with the space in front of it.
size_t HeldBack(std::string_view text) {
  size_t tag = std::min(kOpen.size() - 1, text.size());
  while (tag > 0 && !kOpen.starts_with(text.substr(text.size() - tag))) --tag;
  const std::string_view before = text.substr(0, text.size() - tag);
  const size_t last = before.find_last_not_of(kSpace);
  return text.size() - (last == std::string_view::npos ? 0 : last + 1);
}

std::string_view TrimEnd(std::string_view text) {
  const size_t last = text.find_last_not_of(kSpace);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace

ToolCallParser::Output ToolCallParser::Feed(std::string_view text) {
  Output out;
  pending_ += text;
  while (Step(out)) {
  }
  return out;
}

// Decides one more piece of pending_; false where more text is needed.
bool ToolCallParser::Step(Output& out) {
  const std::string_view tag = inside_ ? kClose : kOpen;
  const size_t at = pending_.find(tag);
  if (at != std::string::npos) {
    const std::string piece = pending_.substr(0, at);
    pending_.erase(0, at + tag.size());
    if (inside_) {
      TakeCall(piece, out, std::string(kOpen) + piece + std::string(kClose));
    } else {
      out.content += TrimEnd(piece);
    }
    inside_ = !inside_;
    return true;
  }
  if (!inside_) {
    const size_t decided = pending_.size() - HeldBack(pending_);
    out.content += pending_.substr(0, decided);
    pending_.erase(0, decided);
  }
  return false;
}

void ToolCallParser::TakeCall(std::string_view body, Output& out, std::string_view whole) {
  if (auto call = ParseCall(body)) {
    out.calls.push_back(std::move(*call));
    ++found_;
  } else {
    out.content += whole;  // what is no call stays visible
  }
}

ToolCallParser::Output ToolCallParser::Finish() {
  Output out;
  if (inside_) {
    TakeCall(pending_, out, std::string(kOpen) + pending_);
  } else if (found_ == 0 || !TrimEnd(pending_).empty()) {
    out.content = pending_;
  }
  pending_.clear();
  inside_ = false;
  return out;
}

}  // namespace inferflux::server
