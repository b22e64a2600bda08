// Any bytes as a token, as a token's claims and as a set of keys. No token is taken, because no input can be signed; an
// error never repeats the input; a key of a set verifies nothing that it did not sign.
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "keys/jwt/claims.h"
#include "keys/jwt/jose_object.h"
#include "keys/jwt/key_set.h"
#include "keys/jwt/token.h"
#include "keys/jwt/token_verifier.h"

namespace {

using namespace inferflux::keys;

constexpr size_t kToldBytes = 24;  // of an input in a message: more than any word of a message's own
constexpr Time kNow{std::chrono::seconds(1'900'000'000)};

void Require(bool condition) {
  if (!condition) std::abort();
}

void RequireSilent(const std::string& message, std::string_view input) {
  for (size_t at = 0; at + kToldBytes <= input.size(); ++at) {
    const std::string_view piece = input.substr(at, kToldBytes);
    // A seed may have words of a message, as an error's text in a claim; a token's letters have no spaces.
    if (piece.find_first_of(" '()") == std::string_view::npos) Require(message.find(piece) == std::string::npos);
  }
}

const ClaimRules& Rules() {
  static const ClaimRules rules{.issuer = "https://id.example", .audiences = {"inferflux"}, .scope_claim = "/a/scope"};
  return rules;
}

void ReadSet(std::string_view text) {
  auto set = KeySet::Parse(text);
  if (!set) return Require(!set.error().message.empty());
  Require(set->size() > 0 && set->size() + set->left_out().size() <= KeySet::kMaxKeys);
  for (const Algorithm algorithm : {Algorithm::kRs256, Algorithm::kEs256, Algorithm::kEdDsa}) {
    const PublicKey* key = set->Find(algorithm, std::nullopt);
    if (key == nullptr) continue;
    Require(key->algorithm() == algorithm);
    Require(!key->Verifies("text", std::string(algorithm == Algorithm::kRs256 ? 256 : 64, '\1')));
  }
}

void ReadClaims(std::string_view text) {
  const auto claims = ParseJoseObject(text, "the text");
  if (!claims) return;
  const auto caller = CheckClaims(*claims, Rules(), kNow);
  if (caller) Require(!caller->account.empty() && caller->account.size() <= 256 && caller->scopes <= kEveryScope);
}

const TokenVerifier& Verifier() {
  static const TokenVerifier verifier(*KeySet::Parse(R"({"keys": [{"kty": "OKP", "crv": "Ed25519",
                                   "x": "sATBEN-U8tVSWaJZTVI8Y7fxE13mk-5XeVktqJE8Ty4"}]})"),
                                      Rules());
  return verifier;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto verified = Verifier().Verify(text, kNow);
  Require(!verified);
  RequireSilent(verified.error().message, text);
  if (const auto token = ParseToken(text)) {
    Require(token->signed_text.size() < text.size());
    static_cast<void>(ParseClaims(*token));
  }
  ReadClaims(text);
  ReadSet(text);
  return 0;
}
