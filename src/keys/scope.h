// The rights of an API key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inferflux::keys {

enum class Scope : uint8_t {
  kRead = 1,      // list and describe models
  kGenerate = 2,  // all endpoints that run a model
  kAdmin = 4,     // load, unload and route models
  kLoad = 8,      // load a model of the models directory by its first use
  kMetrics = 16,  // read the figures of /metrics
};

using Scopes = uint8_t;  // a set of them

constexpr Scopes operator|(Scope a, Scope b) {
  return static_cast<Scopes>(static_cast<Scopes>(a) | static_cast<Scopes>(b));
}
constexpr bool Has(Scopes scopes, Scope scope) { return (scopes & static_cast<Scopes>(scope)) != 0; }

inline constexpr Scopes kEveryScope = 31;
inline constexpr Scopes kUsualScopes = Scope::kRead | Scope::kGenerate;  // of a key that names none

std::string_view NameOf(Scope scope);
// "read,generate".
std::string NamesOf(Scopes scopes);
// The reverse; empty if a word is not a scope, or if there is none.
std::optional<Scopes> ParseScopes(std::string_view text);

}  // namespace inferflux::keys
