// A signed token in its compact form, HEADER.CLAIMS.SIGNATURE (RFC 7519 and 7515), before anything in it is trusted.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "keys/jwt/public_key.h"

namespace inferflux::keys {

inline constexpr size_t kMaxTokenBytes = 16384;

// Whether it has the form of a token: three parts with a dot between two. An API key could have it too.
bool HasTokenForm(std::string_view text);

struct Token {
  Algorithm algorithm = Algorithm::kRs256;
  std::optional<std::string> key_id;
  std::string_view signed_text;  // of the text that was parsed
  std::string_view claims;       // still in base64url: decode them when the signature is right
  std::string signature;
};

// kInvalidArgument says what is wrong, and repeats no part of the text. Of the header `alg`, `kid`, `typ` and `crit`
// are read; a key or an address in it (`jwk`, `jku`, `x5c`, `x5u`) counts for nothing. Refused are every algorithm but
// the three, extensions that must be understood (`crit`), and types other than JWT and at+jwt (RFC 8725, section 3.11).
Result<Token> ParseToken(std::string_view text);

// The claims of a token.
Result<boost::json::object> ParseClaims(const Token& token);

}  // namespace inferflux::keys
