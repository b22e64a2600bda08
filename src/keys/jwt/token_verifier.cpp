#include "keys/jwt/token_verifier.h"

#include <optional>

#include "keys/jwt/token.h"

namespace inferflux::keys {

Result<TokenCaller> TokenVerifier::Verify(std::string_view token, Time now) const {
  auto parsed = ParseToken(token);
  if (!parsed) return Forward(parsed);
  const PublicKey* key =
      keys_.Find(parsed->algorithm, parsed->key_id ? std::optional<std::string_view>(*parsed->key_id) : std::nullopt);
  if (key == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "{}",
                parsed->key_id
                    ? "the key set has no key with the token's kid and algorithm"
                    : "the token names no key (kid), and the key set does not have exactly one for its algorithm");
  }
  if (!key->Verifies(parsed->signed_text, parsed->signature)) {
    return Fail(ErrorCode::kInvalidArgument, "the token's signature is wrong");
  }
  auto claims = ParseClaims(*parsed);
  if (!claims) return Forward(claims);
  return CheckClaims(*claims, rules_, now);
}

}  // namespace inferflux::keys
