// Tokens of one issuer (JWT, RFC 7519) in place of API keys.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "keys/jwt/claims.h"
#include "keys/jwt/key_set.h"

namespace inferflux::keys {

class TokenVerifier {
 public:
  TokenVerifier(KeySet keys, ClaimRules rules) : keys_(std::move(keys)), rules_(std::move(rules)) {}

  // Checks form, key, signature and claims, in this order. kInvalidArgument says which check failed, and repeats no
  // part of the token. Any thread.
  Result<TokenCaller> Verify(std::string_view token, Time now) const;

  const KeySet& keys() const { return keys_; }
  const ClaimRules& rules() const { return rules_; }

 private:
  const KeySet keys_;
  const ClaimRules rules_;
};

}  // namespace inferflux::keys
