// Lists that a namespace holds and a template changes, as Kimi K2's keeps the ids of calls.
#pragma once

#include <string_view>

#include "text/jinja/value/objects.h"

namespace inferflux::text::jinja {

bool ChangesHeldList(std::string_view method);

// `space.name.append(item)` or `space.name.pop(index)`: what it returns in Python. No list ever changes here, for
// others may hold it too, the request among them: the namespace gets another one.
Value ChangeHeldList(Runtime& rt, Namespace& space, std::string_view name, std::string_view method, CallArgs args);

}  // namespace inferflux::text::jinja
