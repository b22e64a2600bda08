#include "keys/jwt/token.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "keys/jwt/base64url.h"
#include "keys/jwt/jose_object.h"

namespace inferflux::keys {
namespace json = boost::json;
namespace {

constexpr std::string_view kHeader = "the token's header";
constexpr std::string_view kTypes[] = {"jwt", "at+jwt", "application/jwt", "application/at+jwt"};

Result<json::object> DecodeObject(std::string_view part, std::string_view what) {
  const auto text = DecodeBase64Url(part);
  if (!text) return Fail(ErrorCode::kInvalidArgument, "{} is not base64url", what);
  return ParseJoseObject(*text, what);
}

Status CheckHeader(const json::object& header) {
  if (header.contains("crit")) {
    return Fail(ErrorCode::kInvalidArgument, "the token's header asks for extensions (crit), which are not supported");
  }
  auto type = FindString(header, "typ", kHeader);
  if (!type) return Forward(type);
  if (!*type) return {};
  std::string small(**type);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::find(kTypes, small) == std::end(kTypes)) {
    return Fail(ErrorCode::kInvalidArgument, "the token's type (typ) is not JWT or at+jwt");
  }
  return {};
}

}  // namespace

bool HasTokenForm(std::string_view text) { return std::ranges::count(text, '.') == 2; }

Result<Token> ParseToken(std::string_view text) {
  if (text.size() > kMaxTokenBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the token is longer than {} bytes", kMaxTokenBytes);
  }
  if (!HasTokenForm(text)) return Fail(ErrorCode::kInvalidArgument, "the token does not have three parts");
  const size_t first = text.find('.');
  const size_t second = text.find('.', first + 1);
  auto header = DecodeObject(text.substr(0, first), kHeader);
  if (!header) return Forward(header);
  if (Status good = CheckHeader(*header); !good) return Forward(good);
  auto name = FindString(*header, "alg", kHeader);
  if (!name) return Forward(name);
  const auto algorithm = ParseAlgorithm(name->value_or(""));
  if (!algorithm) {
    return Fail(ErrorCode::kInvalidArgument, "the token's algorithm (alg) is not one of RS256, ES256 and EdDSA");
  }
  auto id = FindString(*header, "kid", kHeader);
  if (!id) return Forward(id);
  auto signature = DecodeBase64Url(text.substr(second + 1));
  if (!signature) return Fail(ErrorCode::kInvalidArgument, "the token's signature is not base64url");
  Token out{.algorithm = *algorithm,
            .key_id = std::nullopt,
            .signed_text = text.substr(0, second),
            .claims = text.substr(first + 1, second - first - 1),
            .signature = std::move(*signature)};
  if (*id) out.key_id = std::string(**id);
  return out;
}

Result<json::object> ParseClaims(const Token& token) { return DecodeObject(token.claims, "the token's claims"); }

}  // namespace inferflux::keys
