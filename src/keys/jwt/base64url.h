// Base64 with the URL-safe alphabet, without padding: RFC 4648, section 5, as RFC 7515 uses it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferflux::keys {

// The bytes of `text`. None if it has another character (also '=' and white space), a length that no bytes have, or
// bits after the last byte that are not zero: each sequence of bytes has one spelling.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace inferflux::keys
