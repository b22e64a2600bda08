// A public key of a set (RFC 7517, JWK), and the check of a signature by it (RFC 7515, JWS). The algorithms are those
// of OpenID Connect providers: RS256, ES256 and EdDSA with Ed25519 (RFC 7518, RFC 8037). A key is for one algorithm
// only, whatever a token says, so a public key can never become the secret of an HMAC.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace inferflux::keys {

enum class Algorithm : uint8_t { kRs256, kEs256, kEdDsa };

// Of "RS256", "ES256" and "EdDSA"; none for every other name, also for "none" and "HS256".
std::optional<Algorithm> ParseAlgorithm(std::string_view name);

class PublicKey {
 public:
  // kUnsupported, with the reason, if the key is for something else: encryption, another algorithm, another curve. A
  // set may hold such keys. kInvalidArgument if it is wrong: a private or a secret key, an RSA modulus of less than
  // 2,048 or more than 8,192 bits, a point that is not on the curve.
  static Result<PublicKey> Parse(const boost::json::object& jwk);

  // Whether `signature` is this key's of `text`. An ES256 signature is 64 bytes, r and s. Any thread.
  bool Verifies(std::string_view text, std::string_view signature) const;

  Algorithm algorithm() const { return algorithm_; }
  const std::string& id() const { return id_; }  // "kid"; empty: none

 private:
  PublicKey(Algorithm algorithm, std::string id, std::shared_ptr<evp_pkey_st> key)
      : algorithm_(algorithm), id_(std::move(id)), key_(std::move(key)) {}

  Algorithm algorithm_;
  std::string id_;
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace inferflux::keys
