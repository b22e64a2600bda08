// The methods of Python's str, list, tuple and dict that change nothing.
#pragma once

#include <span>

#include "text/jinja/builtins/builtin.h"

namespace inferflux::text::jinja {

std::span<const Builtin> StrMethods();        // case, padding, replace, join, format
std::span<const Builtin> StrSearchMethods();  // find, count, startswith, ...
std::span<const Builtin> StrSplitMethods();   // split, strip, partition, ...
std::span<const Builtin> StrClassMethods();   // isalpha, isdigit, ...
std::span<const Builtin> SequenceMethods();   // of list and tuple
std::span<const Builtin> ListMethods();
std::span<const Builtin> DictMethods();

}  // namespace inferflux::text::jinja
