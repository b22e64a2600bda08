#include "server/request/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

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

constexpr std::pair<std::string_view, Scope> kScopes[] = {
    {"read", Scope::kRead}, {"generate", Scope::kGenerate}, {"admin", Scope::kAdmin}, {"load", Scope::kLoad}};
constexpr uint8_t kUsualScopes = static_cast<uint8_t>(Scope::kRead) | static_cast<uint8_t>(Scope::kGenerate);

// "read,admin"; empty if a word is not a scope.
std::optional<uint8_t> ParseScopes(std::string_view text) {
  uint8_t out = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    const auto* found = std::ranges::find(kScopes, word, &std::pair<std::string_view, Scope>::first);
    if (found == std::end(kScopes)) return std::nullopt;
    out |= static_cast<uint8_t>(found->second);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return out;
}

std::string_view NameOf(Scope scope) {
  return std::ranges::find(kScopes, scope, &std::pair<std::string_view, Scope>::second)->first;
}

Caller CallerOf(const ApiKeys::Hash& hash, uint8_t scopes) {
  Caller out;
  out.scopes = scopes;
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
    std::istringstream words(line.substr(0, line.find('#')));
    std::string digits, scopes;
    if (!(words >> digits)) continue;
    const auto hash = ParseHash(digits);
    if (!hash) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}:{}: not a SHA-256 hash of 64 hexadecimal digits; make one with: printf %s KEY | sha256sum", path,
                  number);
    }
    std::optional<uint8_t> allowed = kUsualScopes;
    if (words >> scopes && scopes != "-") allowed = ParseScopes(scopes);
    if (!allowed) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}:{}: '{}' is no list of scopes; they are read, generate, load and admin", path, number, scopes);
    }
    out.keys_.push_back({*hash, *allowed});
  }
  if (out.keys_.empty())
    return Fail(ErrorCode::kInvalidArgument, "{}: holds no key; leave the setting out for no keys", path);
  return out;
}

ApiResult<Caller> ApiKeys::Check(std::string_view authorization, Scope scope) const {
  if (keys_.empty()) return Caller();
  if (authorization.size() < kScheme.size() ||
      !boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme)) {
    return tl::make_unexpected(Unauthorized("an API key is needed: send the header 'Authorization: Bearer KEY'"));
  }
  return CheckKey(authorization.substr(kScheme.size()), scope);
}

ApiResult<Caller> ApiKeys::CheckKey(std::string_view key, Scope scope) const {
  if (keys_.empty()) return Caller();
  const Hash given = HashOf(key);
  const Key* found = nullptr;
  for (const Key& known : keys_) {  // check all keys, so that the time does not reveal which one matched
    if (CRYPTO_memcmp(known.hash.data(), given.data(), given.size()) == 0) found = &known;
  }
  if (found == nullptr) return tl::make_unexpected(Unauthorized("the API key is not known here"));
  if ((found->scopes & static_cast<uint8_t>(scope)) == 0) {
    return tl::make_unexpected(ApiError{403, fmt::format("the API key has not the scope '{}'", NameOf(scope)),
                                        "invalid_request_error", "", "insufficient_scope"});
  }
  return CallerOf(found->hash, found->scopes);
}

uint64_t JoinedSalt(uint64_t salt, std::string_view key) {
  if (key.empty()) return salt;
  const ApiKeys::Hash hash = ApiKeys::HashOf(fmt::format("{}/{}", salt, key));
  std::memcpy(&salt, hash.data(), sizeof salt);
  return salt;
}

}  // namespace inferflux::server
