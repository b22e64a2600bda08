#include "server/request/access/api_keys.h"

#include <openssl/crypto.h>

#include <boost/beast/core/string.hpp>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>

#include "keys/jwt/token.h"
#include "keys/key_file.h"

namespace inferflux::server {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr size_t kShownDigits = 8;

ApiError Unauthorized(std::string message) {
  return {401, std::move(message), "invalid_request_error", "", "invalid_api_key"};
}

uint64_t FirstBytes(const keys::Hash& hash) {
  uint64_t out = 0;
  std::memcpy(&out, hash.data(), sizeof out);
  return out;
}

// The beginning of the account of every token of the issuer. No key's account begins so.
std::string IssuerPrefix(const std::string& issuer) {
  return fmt::format("jwt-{:08x}-", static_cast<uint32_t>(FirstBytes(keys::HashOf(issuer))));
}

std::string TokenAccount(const std::string& issuer, uint64_t subject) {
  return fmt::format("{}{:016x}", IssuerPrefix(issuer), subject);
}

ApiError LacksScope(std::string_view what, Scope scope) {
  return {403, fmt::format("{} has not the scope '{}'", what, keys::NameOf(scope)), "invalid_request_error", "",
          "insufficient_scope"};
}

}  // namespace

Caller ApiKeys::CallerWith(const keys::KeyLine& key) const {
  Caller out;
  out.scopes = key.scopes;
  out.key_name = !key.name.empty()      ? key.name
                 : !key.comment.empty() ? key.comment
                                        : keys::ToHex(key.hash).substr(0, kShownDigits);
  out.cache_salt = FirstBytes(key.hash);
  out.account = fmt::format("{:016x}", out.cache_salt);
  out.limits = keys::Over(key.limits, usual_);
  return out;
}

Caller ApiKeys::Anyone() const {
  Caller out;
  out.limits = usual_;
  return out;
}

Result<ApiKeys> ApiKeys::Load(const std::string& path) {
  auto lines = keys::ReadKeyFile(path);
  if (!lines) return Forward(lines);
  if (lines->empty())
    return Fail(ErrorCode::kInvalidArgument, "{}: holds no key; leave the setting out for no keys", path);
  return ApiKeys(std::move(*lines));
}

void ApiKeys::AddClientKey(std::string_view key) {
  keys_.push_back({.hash = keys::HashOf(key),
                   .scopes = static_cast<keys::Scopes>(keys::kUsualScopes | static_cast<keys::Scopes>(Scope::kLoad)),
                   .name = "server.api_key"});
}

ApiResult<Caller> ApiKeys::Check(std::string_view authorization, Scope scope) const {
  if (!required()) return Anyone();
  if (authorization.size() < kScheme.size() ||
      !boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme)) {
    return tl::make_unexpected(Unauthorized("an API key is needed: send the header 'Authorization: Bearer KEY'"));
  }
  return CheckKey(authorization.substr(kScheme.size()), scope);
}

ApiResult<Caller> ApiKeys::CheckKey(std::string_view key, Scope scope) const {
  if (!required()) return Anyone();
  const keys::Hash given = keys::HashOf(key);
  const keys::KeyLine* found = nullptr;
  for (const keys::KeyLine& known : keys_) {  // check all keys, so that the time does not reveal which one matched
    if (CRYPTO_memcmp(known.hash.data(), given.data(), given.size()) == 0) found = &known;
  }
  if (found == nullptr && tokens_ && keys::HasTokenForm(key)) return CheckToken(key, scope);
  if (found == nullptr) return tl::make_unexpected(Unauthorized("the API key is not known here"));
  if (keys::IsExpired(*found)) {
    return tl::make_unexpected(
        Unauthorized(fmt::format("the API key expired on {}", keys::FormatTime(*found->expires))));
  }
  if (!keys::Has(found->scopes, scope)) {
    return tl::make_unexpected(LacksScope("the API key", scope));
  }
  return CallerWith(*found);
}

ApiResult<Caller> ApiKeys::CheckToken(std::string_view token, Scope scope) const {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  auto verified = tokens_->Verify(token, now);
  if (!verified) return tl::make_unexpected(Unauthorized(std::move(verified.error().message)));
  if (!keys::Has(verified->scopes, scope)) {
    const std::string claim = fmt::format("the token's claim '{}'", tokens_->rules().scope_claim);
    return tl::make_unexpected(LacksScope(claim, scope));
  }
  const std::string& issuer = tokens_->rules().issuer;
  Caller out = Anyone();
  out.scopes = verified->scopes;
  out.key_name = "jwt:" + verified->account;
  out.cache_salt = FirstBytes(keys::HashOf(fmt::format("jwt {} {} {}", issuer.size(), issuer, verified->account)));
  out.account = TokenAccount(issuer, out.cache_salt);
  return out;
}

std::optional<Caller> ApiKeys::CallerOf(std::string_view account, Scope scope) const {
  if (!required()) return account.empty() ? std::optional(Anyone()) : std::nullopt;
  for (const keys::KeyLine& key : keys_) {
    Caller caller = CallerWith(key);
    if (caller.account == account && keys::Has(key.scopes, scope) && !keys::IsExpired(key)) return caller;
  }
  if (!tokens_ || !keys::Has(keys::kUsualScopes, scope)) return std::nullopt;
  const std::string prefix = IssuerPrefix(tokens_->rules().issuer);
  if (!account.starts_with(prefix)) return std::nullopt;
  Caller caller = Anyone();
  caller.account = account;
  caller.scopes = keys::kUsualScopes;
  caller.key_name = account;
  const std::string_view digits = account.substr(prefix.size());
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), caller.cache_salt, 16);
  const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  return whole ? std::optional(std::move(caller)) : std::nullopt;
}

uint64_t JoinedSalt(uint64_t salt, std::string_view key) {
  if (key.empty()) return salt;
  const keys::Hash hash = keys::HashOf(fmt::format("{}/{}", salt, key));
  std::memcpy(&salt, hash.data(), sizeof salt);
  return salt;
}

}  // namespace inferflux::server
