// The functions that every template has.
#pragma once

#include <span>

#include "text/jinja/builtins/builtin.h"

namespace inferflux::text::jinja {

std::span<const Builtin> Functions();

}  // namespace inferflux::text::jinja
