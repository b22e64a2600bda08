// Finds an object of a JSON text that has a member twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferflux::server {

// RFC 8259, section 4, leaves the meaning of such an object open, and parsers differ: a proxy that checks a request and
// the server that runs it would see different values. Returns the first repeated name; none if there is no such object
// or if the text is not valid JSON. `max_depth` bounds the nesting.
std::optional<std::string> DuplicateName(std::string_view json, size_t max_depth);

}  // namespace inferflux::server
