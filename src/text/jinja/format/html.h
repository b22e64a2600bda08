// markupsafe.escape.
#pragma once

#include "text/jinja/value/runtime.h"

namespace inferflux::text::jinja {

// & < > " ' become entities; an entity has the origin of its character.
void AppendEscaped(TextBuilder& out, const TracedText& text);
// escape(value): a Markup, escaped unless it was one.
Str Escape(Runtime& rt, const Value& value);

}  // namespace inferflux::text::jinja
