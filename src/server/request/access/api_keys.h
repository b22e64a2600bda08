// Who may use the API. Keys are kept as SHA-256 hashes, compared in constant time, and never logged. In place of a key
// a caller may send a token of the issuer that the server trusts (keys/jwt/).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keys/jwt/token_verifier.h"
#include "keys/key_line.h"
#include "scheduler/generation.h"
#include "server/request/api_error.h"

namespace inferflux::server {

class RequestTrace;

using keys::Scope;

// A caller, as the scheduler distinguishes tenants.
struct Caller {
  std::string account;  // empty if no keys are required
  keys::Scopes scopes = keys::kEveryScope;
  int32_t priority = 0;                 // added to that of its requests; higher is served first
  uint64_t cache_salt = 0;              // requests with different salts never share cached prompts
  double waited_seconds = 0;            // that this request has waited for its model
  std::string request_id;               // of this request, for logs
  std::shared_ptr<RequestTrace> trace;  // of this request; null: it has none
  std::optional<std::chrono::steady_clock::time_point> deadline;  // of this request
  // Of its key, for logs: its name, else its comment, else the first digits of its hash; of a token "jwt:" and its
  // account. Empty if no keys are required.
  std::string key_name;
  std::string peer;                         // its address; who it is where no keys are required
  keys::Limits limits;                      // all of them set
  scheduler::AccountLimits account_limits;  // the same for the scheduler

  // Who shares limits and turns with it.
  const std::string& client() const { return account.empty() ? peer : account; }
  bool MayLoad() const { return keys::Has(scopes, Scope::kLoad) || keys::Has(scopes, Scope::kAdmin); }
};

// The salt of a caller's requests with this key of its own: it divides the caller's cache further, and never reaches
// that of another caller. An empty key changes nothing.
uint64_t JoinedSalt(uint64_t salt, std::string_view key);

class ApiKeys {
 public:
  ApiKeys() = default;  // requires no key
  explicit ApiKeys(std::vector<keys::KeyLine> keys) : keys_(std::move(keys)) {}
  // Reads a file of keys (keys/key_line.h). An empty file is an error: it would lock everyone out, or in.
  static Result<ApiKeys> Load(const std::string& path);

  // Adds a key with the scopes that clients need: read, generate and load.
  void AddClientKey(std::string_view key);

  // The limits of callers whose keys have none of their own, of tokens, and of all callers where no keys are required.
  void SetUsualLimits(const keys::Limits& limits) { usual_ = limits; }

  // Takes tokens that `verifier` accepts, too.
  void AcceptTokens(std::shared_ptr<const keys::TokenVerifier> verifier) { tokens_ = std::move(verifier); }

  // `authorization` is the header's value, "Bearer KEY".
  // 401 if the key is unknown or has expired, 403 if it lacks the scope.
  ApiResult<Caller> Check(std::string_view authorization, Scope scope) const;

  // The same for the bare key.
  ApiResult<Caller> CheckKey(std::string_view key, Scope scope) const;

  // The caller of an account that called before. None if its key is gone or lacks the scope. An account of a token is
  // taken as long as its issuer is trusted, with the scopes read and generate: what it queued outlives the token.
  std::optional<Caller> CallerOf(std::string_view account, Scope scope) const;

  bool required() const { return !keys_.empty() || tokens_ != nullptr; }
  size_t size() const { return keys_.size(); }

 private:
  Caller CallerWith(const keys::KeyLine& key) const;
  Caller Anyone() const;
  ApiResult<Caller> CheckToken(std::string_view token, Scope scope) const;

  std::vector<keys::KeyLine> keys_;
  keys::Limits usual_;
  std::shared_ptr<const keys::TokenVerifier> tokens_;  // null: only keys
};

}  // namespace inferflux::server
