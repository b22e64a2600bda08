// A request's body as a JSON object, within limits.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

// Objects and arrays inside each other; tool schemas are the deepest thing that clients send.
inline constexpr size_t kMaxJsonDepth = 64;

// Errors: not UTF-8, not JSON (with the byte where it fails), too deep, not an object.
ApiResult<boost::json::object> ParseJsonBody(std::string_view body);

}  // namespace inferflux::server
