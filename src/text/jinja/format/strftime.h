// datetime.strftime with English names.
#pragma once

#include <chrono>

#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

// The output of a directive has the origin of the directive. An unknown directive is an error.
Value FormatTime(Runtime& rt, const Str& format, std::chrono::sys_seconds time);

}  // namespace inferflux::text::jinja
