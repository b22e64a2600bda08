#include "server/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <boost/beast/core/string.hpp>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>

namespace inferflux::server {
namespace {

constexpr std::string_view kScheme = "Bearer ";

std::optional<ApiKeys::Hash> ParseHash(std::string_view digits) {
  ApiKeys::Hash out;
  if (digits.size() != 2 * out.size()) return std::nullopt;
  for (size_t i = 0; i < out.size(); ++i) {
    const char* begin = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, out[i], 16);
    if (error != std::errc() || end != begin + 2) return std::nullopt;
  }
  return out;
}

ApiError Unauthorized(std::string message) {
  return {401, std::move(message), "invalid_request_error", "", "invalid_api_key"};
}

Caller CallerOf(const ApiKeys::Hash& hash) {
  Caller out;
  std::memcpy(&out.cache_salt, hash.data(), sizeof out.cache_salt);
  out.account = fmt::format("{:016x}", out.cache_salt);
  return out;
}

}  // namespace

ApiKeys::Hash ApiKeys::HashOf(std::string_view key) {
  Hash out;
  EVP_Digest(key.data(), key.size(), out.data(), nullptr, EVP_sha256(), nullptr);
  return out;
}

Result<ApiKeys> ApiKeys::Load(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, "cannot read the API keys file {}", path);
  ApiKeys out;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view digits = std::string_view(line).substr(0, line.find_first_of(" \t\r#"));
    if (digits.empty()) continue;
    const auto hash = ParseHash(digits);
    if (!hash) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}:{}: not a SHA-256 hash of 64 hexadecimal digits; make one with: printf %s KEY | sha256sum", path,
                  number);
    }
    out.hashes_.push_back(*hash);
  }
  if (out.hashes_.empty())
    return Fail(ErrorCode::kInvalidArgument, "{}: holds no key; leave the setting out for no keys", path);
  return out;
}

ApiResult<Caller> ApiKeys::Check(std::string_view authorization) const {
  if (hashes_.empty()) return Caller();
  if (authorization.size() < kScheme.size() ||
      !boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme)) {
    return tl::make_unexpected(Unauthorized("an API key is needed: send the header 'Authorization: Bearer KEY'"));
  }
  const Hash given = HashOf(authorization.substr(kScheme.size()));
  const Hash* found = nullptr;
  for (const Hash& hash : hashes_) {  // all of them, so that the time does not tell which
    if (CRYPTO_memcmp(hash.data(), given.data(), given.size()) == 0) found = &hash;
  }
  if (found == nullptr) return tl::make_unexpected(Unauthorized("the API key is not known here"));
  return CallerOf(*found);
}

}  // namespace inferflux::server
