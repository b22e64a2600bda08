// Lists in a namespace that a template changes, such as the call ids in Kimi K2's template.
#pragma once

#include <string_view>

#include "text/jinja/value/objects.h"

namespace inferflux::text::jinja {

bool ChangesHeldList(std::string_view method);

// `space.name.append(item)` or `space.name.pop(index)`: returns what Python returns. The list itself never changes,
// because others may hold it, such as the request: the namespace gets a new list.
Value ChangeHeldList(Runtime& rt, Namespace& space, std::string_view name, std::string_view method, CallArgs args);

}  // namespace inferflux::text::jinja
