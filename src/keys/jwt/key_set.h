// A set of public keys (RFC 7517, JWKS), as OpenID Connect providers publish it at their jwks_uri.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "keys/jwt/public_key.h"

namespace inferflux::keys {

class KeySet {
 public:
  static constexpr size_t kMaxBytes = 256u << 10;
  static constexpr size_t kMaxKeys = 64;

  // Keys for other purposes are left out (left_out()); one that is wrong, two of one id and algorithm, and a set
  // without a usable key are errors.
  static Result<KeySet> Parse(std::string_view text);
  // The same of a file; errors begin with its path. kNotFound if it cannot be read.
  static Result<KeySet> Read(const std::string& path);

  // The key of that id. Without an id the only key for the algorithm, if there is one only. Null if there is none.
  const PublicKey* Find(Algorithm algorithm, std::optional<std::string_view> id) const;

  size_t size() const { return keys_.size(); }
  // A line for each key that is not used: which, and why.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  std::vector<PublicKey> keys_;
  std::vector<std::string> left_out_;
};

}  // namespace inferflux::keys
