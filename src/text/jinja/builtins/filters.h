// Jinja2's filters, by field. Omitted: random (not deterministic), pprint, striptags, urlize, wordwrap (for pages, not
// for prompts).
#pragma once

#include <span>

#include "text/jinja/builtins/builtin.h"

namespace inferflux::text::jinja {

std::span<const Builtin> StringFilters();
std::span<const Builtin> NumberFilters();
std::span<const Builtin> SequenceFilters();
std::span<const Builtin> SelectionFilters();
std::span<const Builtin> JsonFilters();

// name|filter(args), for map() and {% filter %}.
Value CallFilter(Runtime& rt, std::string_view name, const Value& value, CallArgs args);
bool CallTest(Runtime& rt, std::string_view name, const Value& value, CallArgs args);

}  // namespace inferflux::text::jinja
