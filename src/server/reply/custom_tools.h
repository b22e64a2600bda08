// Custom tools of OpenAI's APIs: their input is a text, which may have to match a grammar. The model sees them as
// functions with one argument.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/api_error.h"
#include "serving/generation/chat.h"

namespace inferflux::server {

struct CustomTool {
  std::string name;
  std::string description;
  std::string syntax;      // of the grammar: "lark" or "regex"; empty: any text
  std::string definition;  // the grammar
};

// The value of `format`: {"type": "text"}, or "grammar" with `syntax` and `definition`, which chat completions put into
// an object `grammar`.
ApiStatus ReadCustomFormat(const boost::json::value& value, std::string_view param, CustomTool& out);

// The function that stands for the tool, as the scheduler and as templates take it.
serving::OfferedFunction FunctionOfCustom(const CustomTool& tool);
boost::json::object TemplateToolOfCustom(const CustomTool& tool);

// The arguments of a call in a history.
boost::json::object ArgumentsOfCustom(std::string_view input);

std::vector<std::string> CustomNames(const std::vector<serving::OfferedFunction>& functions);

}  // namespace inferflux::server
