// JSON in both directions: json.dumps for |tojson, and the request's values.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

// The arguments of json.dumps that |tojson supports.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // the indentation of one level; absent: everything on one line
  TracedText item_separator{", ", false};
  TracedText key_separator{": ", false};
  bool sort_keys = false;
};

void AppendJson(Runtime& rt, TextBuilder& out, const Value& value, const JsonStyle& style);

// A value of the request, or of the model's own files if `trusted`.
Value FromJson(Runtime& rt, const boost::json::value& json, bool trusted);

}  // namespace inferflux::text::jinja
