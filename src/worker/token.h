// The secret that a pool and its workers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"

namespace inferflux::worker {

class Token {
 public:
  Token() = default;  // none: every request is admitted
  explicit Token(std::string secret) : secret_(std::move(secret)) {}

  // The first line of a file, at least 16 characters.
  static Result<Token> ReadFile(const std::string& path);
  // 256 random bits.
  static Result<Token> Random();

  bool required() const { return !secret_.empty(); }
  // Whether the request carries it, as "Authorization: Bearer TOKEN". The time does not depend on where it differs.
  bool Admits(const net::Request& request) const;
  // The header for requests that carry it; none without a token.
  std::vector<net::Header> Headers() const;
  // For the process that is to read it. Never log it.
  const std::string& secret() const { return secret_; }

 private:
  std::string secret_;
};

// Whether an address is of this machine alone.
bool IsLoopback(const std::string& host);

}  // namespace inferflux::worker
