// What a token's claims have to say before it opens anything (RFC 7519, section 4.1), and whom they name.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "keys/key_line.h"

namespace inferflux::keys {

struct ClaimRules {
  std::string issuer;                  // `iss` must be it
  std::vector<std::string> audiences;  // `aud` must have one of them
  // The names of the claims with the scopes (a string of words, or a list) and with the account. One that begins with
  // '/' is a path (RFC 6901), as "/realm_access/roles".
  std::string scope_claim = "scope";
  std::string account_claim = "sub";
  std::string scope_prefix;         // of this server's scopes: "inferflux:" takes "inferflux:read"
  std::chrono::seconds leeway{60};  // that the issuer's clock and ours may differ
};

struct TokenCaller {
  std::string account;  // the account claim's value, 1 to 256 bytes; of this issuer
  Scopes scopes = 0;    // words that are not scopes of this server give none
};

// kInvalidArgument names the claim that fails. `exp` and the account are required; `nbf` and `iat` are checked where
// they are.
Result<TokenCaller> CheckClaims(const boost::json::object& claims, const ClaimRules& rules, Time now);

}  // namespace inferflux::keys
