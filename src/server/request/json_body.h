// A request's body as a JSON object, within limits.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

// The nesting limit of objects and arrays. Tool schemas are the most deeply nested input that clients send.
inline constexpr size_t kMaxJsonDepth = 64;

// Errors: not UTF-8, not JSON (with the byte where it fails), too deep, a repeated name, too many values for its size
// (json_scan.h), not an object.
ApiResult<boost::json::object> ParseJsonBody(std::string_view body);

}  // namespace inferflux::server
