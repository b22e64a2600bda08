#include "keys/scope.h"

#include <algorithm>
#include <utility>

namespace inferflux::keys {
namespace {

constexpr std::pair<std::string_view, Scope> kNames[] = {{"read", Scope::kRead},
                                                         {"generate", Scope::kGenerate},
                                                         {"load", Scope::kLoad},
                                                         {"metrics", Scope::kMetrics},
                                                         {"admin", Scope::kAdmin}};

}  // namespace

std::string_view NameOf(Scope scope) {
  return std::ranges::find(kNames, scope, &std::pair<std::string_view, Scope>::second)->first;
}

std::string NamesOf(Scopes scopes) {
  std::string out;
  for (const auto& [name, scope] : kNames) {
    if (!Has(scopes, scope)) continue;
    if (!out.empty()) out += ',';
    out += name;
  }
  return out;
}

std::optional<Scopes> ParseScopes(std::string_view text) {
  Scopes out = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    const auto* found = std::ranges::find(kNames, word, &std::pair<std::string_view, Scope>::first);
    if (found == std::end(kNames)) return std::nullopt;
    out |= static_cast<Scopes>(found->second);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return out == 0 ? std::nullopt : std::optional(out);
}

}  // namespace inferflux::keys
