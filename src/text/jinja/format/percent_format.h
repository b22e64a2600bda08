// str % arguments.
#pragma once

#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

// `args` is a tuple of arguments, a mapping for %(name)s, or a single argument.
Value FormatPercent(Runtime& rt, const Str& format, const Value& args);

}  // namespace inferflux::text::jinja
