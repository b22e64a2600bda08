// str() and repr().
#pragma once

#include <string>

#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

// The output of {{ value }}.
void AppendStr(Runtime& rt, TextBuilder& out, const Value& value);
void AppendRepr(Runtime& rt, TextBuilder& out, const Value& value);
// str(value): a plain str.
Str ToStr(Runtime& rt, const Value& value);
// markupsafe.soft_str(value): keeps a Markup.
Str SoftStr(Runtime& rt, const Value& value);
// The shortest text that reads back as the same float: 1.0, 1e+16, nan.
std::string FloatRepr(double value);

}  // namespace inferflux::text::jinja
