// Jinja2's tests: `x is odd`.
#pragma once

#include <span>

#include "text/jinja/builtins/builtin.h"

namespace inferflux::text::jinja {

std::span<const Builtin> Tests();

}  // namespace inferflux::text::jinja
