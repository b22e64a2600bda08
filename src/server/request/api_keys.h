// Who may use the API. Keys are kept as SHA-256 hashes, compared in constant time, and never logged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/api_error.h"

namespace inferflux::server {

// The rights of a key.
enum class Scope : uint8_t {
  kRead = 1,      // list and describe models
  kGenerate = 2,  // all endpoints that run a model
  kAdmin = 4,     // load, unload and route models
  kLoad = 8,      // load a model of the models directory by its first use
};
inline constexpr uint8_t kEveryScope = 15;

// A caller, as the scheduler distinguishes tenants.
struct Caller {
  std::string account;  // empty if no keys are required
  uint8_t scopes = kEveryScope;
  uint64_t cache_salt = 0;    // requests with different salts never share cached prompts
  double waited_seconds = 0;  // that this request has waited for its model
  std::string request_id;     // of this request, for logs

  bool MayLoad() const {
    return (scopes & (static_cast<uint8_t>(Scope::kLoad) | static_cast<uint8_t>(Scope::kAdmin))) != 0;
  }
};

// The salt of a caller's requests with this key of its own: it divides the caller's cache further, and never reaches
// that of another caller. An empty key changes nothing.
uint64_t JoinedSalt(uint64_t salt, std::string_view key);

class ApiKeys {
 public:
  using Hash = std::array<uint8_t, 32>;

  ApiKeys() = default;  // requires no key
  // Each line holds one SHA-256 in 64 hexadecimal digits (`printf %s KEY | sha256sum`), optionally followed by a space
  // and the key's scopes: "read,generate,load,admin" or fewer; the default is read and generate. Text after '#' or
  // after the dash that sha256sum writes is a comment. An empty file is an error: it would lock everyone out, or in.
  static Result<ApiKeys> Load(const std::string& path);

  // `authorization` is the header's value, "Bearer KEY".
  // 401 if the key is unknown, 403 if it lacks the scope.
  ApiResult<Caller> Check(std::string_view authorization, Scope scope) const;

  // The same for the bare key.
  ApiResult<Caller> CheckKey(std::string_view key, Scope scope) const;

  bool required() const { return !keys_.empty(); }

  static Hash HashOf(std::string_view key);

 private:
  struct Key {
    Hash hash;
    uint8_t scopes;
  };
  std::vector<Key> keys_;
};

}  // namespace inferflux::server
