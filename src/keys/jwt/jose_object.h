// The JSON objects of JOSE: a token's header, its claims, and sets of keys.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace inferflux::keys {

// kInvalidArgument, with `what` as the subject, if the text is not one JSON object of at most eight levels, or if an
// object in it has a member twice: parsers differ in which of the two they take (RFC 7519, section 4). Never repeats
// any of the text. The text's size bounds the memory, so bound it first.
Result<boost::json::object> ParseJoseObject(std::string_view text, std::string_view what);

// The string member `name`. Empty if it is absent, kInvalidArgument if it is not a string.
Result<std::optional<std::string_view>> FindString(const boost::json::object& object, std::string_view name,
                                                   std::string_view what);

}  // namespace inferflux::keys
