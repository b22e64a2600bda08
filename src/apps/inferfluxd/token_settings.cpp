#include "apps/inferfluxd/token_settings.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace inferflux::apps {
namespace {

std::vector<std::string> SplitWords(std::string_view words) {
  std::vector<std::string> out;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    out.emplace_back(word);
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const keys::TokenVerifier>> ReadTokenVerifier(const config::Settings& settings) {
  const std::string& path = settings.Text("server.jwt.jwks_file");
  keys::ClaimRules rules{.issuer = settings.Text("server.jwt.issuer"),
                         .audiences = SplitWords(settings.Words("server.jwt.audience")),
                         .scope_claim = settings.Text("server.jwt.scope_claim"),
                         .account_claim = settings.Text("server.jwt.account_claim"),
                         .scope_prefix = settings.Text("server.jwt.scope_prefix"),
                         .leeway = std::chrono::seconds(settings.Integer("server.jwt.leeway_seconds"))};
  if (path.empty()) {
    if (rules.issuer.empty() && rules.audiences.empty()) return nullptr;
    return Fail(
        ErrorCode::kInvalidArgument,
        "server.jwt.issuer or server.jwt.audience is set without server.jwt.jwks_file, the file of the issuer's "
        "public keys");
  }
  if (rules.issuer.empty() || rules.audiences.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "server.jwt.jwks_file needs server.jwt.issuer and server.jwt.audience too: without them a token for "
                "another service would open this one");
  }
  if (rules.scope_claim.empty() || rules.account_claim.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "server.jwt.scope_claim and server.jwt.account_claim must not be empty");
  }
  auto set = keys::KeySet::Read(path);
  if (!set) return Forward(set, "server.jwt.jwks_file");
  log::Info("{}: {} keys for tokens of {}", path, set->size(), rules.issuer);
  for (const std::string& line : set->left_out()) log::Info("{}: {}", path, line);
  return std::make_shared<const keys::TokenVerifier>(std::move(*set), std::move(rules));
}

}  // namespace inferflux::apps
