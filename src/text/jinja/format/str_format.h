// str.format and its mini-language.
#pragma once

#include <vector>

#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

// "{} {name[0].attr!r:>10}".format(...); `fields` is a mapping.
Value FormatBraces(Runtime& rt, const Str& format, const std::vector<Value>& args, const Value& fields);
// Appends format(value, spec).
void AppendFormatted(Runtime& rt, TextBuilder& out, const Value& value, const TracedText& spec);

}  // namespace inferflux::text::jinja
