// The tables of builtins, one for each source file of this folder.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/builtins/builtin.h"

namespace inferflux::text::jinja {

// The functions that every template has.
std::span<const Builtin> Functions();

// Tests: `x is odd`.
std::span<const Builtin> Tests();

// Filters, by field. Omitted: random (not deterministic), pprint, striptags, urlize, wordwrap (for pages, not for
// prompts).
std::span<const Builtin> StringFilters();
std::span<const Builtin> NumberFilters();
std::span<const Builtin> SequenceFilters();
std::span<const Builtin> SelectionFilters();
std::span<const Builtin> JsonFilters();

// The methods of Python's str, list, tuple and dict that change nothing.
std::span<const Builtin> StrMethods();        // case, padding, replace, join, format
std::span<const Builtin> StrSearchMethods();  // find, count, startswith, ...
std::span<const Builtin> StrSplitMethods();   // split, strip, partition, ...
std::span<const Builtin> StrClassMethods();   // isalpha, isdigit, ...
std::span<const Builtin> SequenceMethods();   // of list and tuple
std::span<const Builtin> ListMethods();
std::span<const Builtin> DictMethods();

// name|filter(args), for map() and {% filter %}.
Value CallFilter(Runtime& rt, std::string_view name, const Value& value, CallArgs args);
bool CallTest(Runtime& rt, std::string_view name, const Value& value, CallArgs args);

}  // namespace inferflux::text::jinja
