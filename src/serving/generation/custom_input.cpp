#include "serving/generation/custom_input.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <utility>

#include "text/tool_calls/tool_call_syntax.h"

namespace inferflux::serving {

std::string CustomInput::Take(std::string_view arguments) {
  static const std::string kInputOpening = fmt::format("{{\"{}\":\"", text::kCustomInput);
  if (at_ == At::kRaw) return std::string(arguments);
  if (at_ == At::kBehind) return {};
  if (at_ == At::kText) return TakeText(arguments);
  begun_ += arguments;
  if (begun_.starts_with(kInputOpening)) {
    at_ = At::kText;
    return TakeText(std::string_view(begun_).substr(kInputOpening.size()));
  }
  if (kInputOpening.starts_with(begun_)) return {};
  if (begun_ == "{}") {  // an input was left out
    at_ = At::kBehind;
    return {};
  }
  at_ = At::kRaw;
  return std::exchange(begun_, {});
}

std::string CustomInput::Finish() {
  const bool held = at_ == At::kOpening;
  at_ = At::kBehind;
  return held ? std::exchange(begun_, {}) : std::string();
}

// A part of a JSON string that does not end inside an escape.
std::string CustomInput::TakeText(std::string_view part) {
  size_t end = 0;
  while (end < part.size() && part[end] != '"') end += part[end] == '\\' ? 2 : 1;
  if (end < part.size()) at_ = At::kBehind;
  boost::system::error_code error;
  const std::string quoted = fmt::format("\"{}\"", part.substr(0, end));
  const boost::json::value text = boost::json::parse(quoted, error);
  return error || !text.is_string() ? std::string(part.substr(0, end)) : std::string(text.get_string());
}

std::string CustomInputOf(std::string_view arguments) {
  CustomInput input;
  std::string out = input.Take(arguments);
  return out + input.Finish();
}

}  // namespace inferflux::serving
