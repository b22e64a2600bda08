#include "keys/jwt/claims.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "keys/jwt/jose_object.h"
#include "keys/scope.h"

namespace inferflux::keys {
namespace json = boost::json;
namespace {

constexpr std::string_view kClaims = "the token's claims";
constexpr double kLastSecond = 253402300799;  // of the year 9999
constexpr size_t kMaxAccountBytes = 256;

// A NumericDate, seconds since 1970 and perhaps a fraction. Empty if it is absent.
Result<std::optional<double>> FindTime(const json::object& claims, std::string_view name) {
  const json::value* found = claims.if_contains(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number()) return Fail(ErrorCode::kInvalidArgument, "the token's '{}' is not a number", name);
  const auto out = found->to_number<double>();
  if (!std::isfinite(out) || out < 0 || out > kLastSecond) {
    return Fail(ErrorCode::kInvalidArgument, "the token's '{}' is not a time", name);
  }
  return out;
}

Status CheckTimes(const json::object& claims, double leeway, Time clock) {
  const auto now = static_cast<double>(clock.time_since_epoch().count());
  auto expires = FindTime(claims, "exp");
  if (!expires) return Forward(expires);
  if (!*expires) return Fail(ErrorCode::kInvalidArgument, "the token has no end (exp)");
  if (now >= **expires + leeway) return Fail(ErrorCode::kInvalidArgument, "the token has expired (exp)");
  auto begins = FindTime(claims, "nbf");
  if (!begins) return Forward(begins);
  if (*begins && now + leeway < **begins) return Fail(ErrorCode::kInvalidArgument, "the token is not valid yet (nbf)");
  auto issued = FindTime(claims, "iat");
  if (!issued) return Forward(issued);
  if (*issued && now + leeway < **issued) {
    return Fail(ErrorCode::kInvalidArgument, "the token was issued in the future (iat)");
  }
  return {};
}

bool IsString(const json::value& value, std::string_view text) {
  return value.is_string() && value.get_string() == text;
}

Status CheckAudience(const json::object& claims, const std::vector<std::string>& audiences) {
  const json::value* found = claims.if_contains("aud");
  if (found == nullptr) return Fail(ErrorCode::kInvalidArgument, "the token names no audience (aud)");
  const auto ours = [&](const json::value& value) {
    return std::ranges::any_of(audiences, [&](const std::string& each) { return IsString(value, each); });
  };
  const bool meant = found->is_array() ? std::ranges::any_of(found->get_array(), ours) : ours(*found);
  if (!meant) return Fail(ErrorCode::kInvalidArgument, "the token is for another audience (aud)");
  return {};
}

const json::value* FindClaim(const json::object& claims, const std::string& name) {
  if (!name.starts_with('/')) return claims.if_contains(name);
  const json::object* object = &claims;
  for (std::string_view rest = std::string_view(name).substr(1);;) {
    const size_t end = rest.find('/');
    const json::value* found = object->if_contains(rest.substr(0, end));
    if (found == nullptr || end == std::string_view::npos) return found;
    if (!found->is_object()) return nullptr;
    object = &found->get_object();
    rest.remove_prefix(end + 1);
  }
}

Scopes ScopeOf(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return 0;
  word.remove_prefix(prefix.size());
  return word.find(',') == std::string_view::npos ? ParseScopes(word).value_or(0) : Scopes{0};
}

Result<Scopes> ReadScopes(const json::object& claims, const ClaimRules& rules) {
  const json::value* found = FindClaim(claims, rules.scope_claim);
  Scopes out = 0;
  if (found == nullptr) return out;
  if (found->is_string()) {
    std::string_view rest = found->get_string();
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      out |= ScopeOf(word, rules.scope_prefix);
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    return out;
  }
  const bool list = found->is_array() && std::ranges::all_of(found->get_array(), &json::value::is_string);
  if (!list) {
    return Fail(ErrorCode::kInvalidArgument, "the token's claim '{}' is neither a string nor a list of strings",
                rules.scope_claim);
  }
  for (const json::value& each : found->get_array()) out |= ScopeOf(each.get_string(), rules.scope_prefix);
  return out;
}

}  // namespace

Result<TokenCaller> CheckClaims(const json::object& claims, const ClaimRules& rules, Time now) {
  auto issuer = FindString(claims, "iss", kClaims);
  if (!issuer) return Forward(issuer);
  if (*issuer != rules.issuer) return Fail(ErrorCode::kInvalidArgument, "the token is from another issuer (iss)");
  if (Status meant = CheckAudience(claims, rules.audiences); !meant) return Forward(meant);
  if (Status valid = CheckTimes(claims, static_cast<double>(rules.leeway.count()), now); !valid) return Forward(valid);
  const json::value* account = FindClaim(claims, rules.account_claim);
  const bool named = account != nullptr && account->is_string() && !account->get_string().empty() &&
                     account->get_string().size() <= kMaxAccountBytes;
  if (!named) {
    return Fail(ErrorCode::kInvalidArgument, "the token's claim '{}' is not a string of 1 to {} bytes",
                rules.account_claim, kMaxAccountBytes);
  }
  auto scopes = ReadScopes(claims, rules);
  if (!scopes) return Forward(scopes);
  return TokenCaller{.account = std::string(account->get_string()), .scopes = *scopes};
}

}  // namespace inferflux::keys
