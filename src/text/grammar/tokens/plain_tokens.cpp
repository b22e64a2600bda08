#include "text/grammar/tokens/plain_tokens.h"

#include <algorithm>

#include "text/grammar/json_schema/quoted_text.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

constexpr uint16_t kMostCharacters = 256;  // longer tokens count as others: they are few, and each length has a mask

bool IsPlain(char32_t code) {
  return std::ranges::any_of(PlainWithin('"'),
                             [&](const CodeRange& range) { return range.first <= code && code <= range.last; });
}

uint16_t PlainCharacters(std::string_view bytes) {
  uint16_t characters = 0;
  for (size_t at = 0; at < bytes.size(); ++characters) {
    const unicode::Utf8Char c = unicode::DecodeUtf8(bytes, at);
    if (!c.valid || !IsPlain(c.code) || characters == kMostCharacters) return 0;
    at += c.size;
  }
  return characters;
}

std::vector<bool> Kept(const std::vector<uint16_t>& characters, bool plain) {
  std::vector<bool> kept;
  for (const uint16_t count : characters) kept.push_back((count > 0) == plain);
  return kept;
}

}  // namespace

std::vector<uint16_t> PlainTokens::Characters(const Tokenizer& tokenizer, const Spelling& spelling) {
  std::vector<uint16_t> characters;
  for (TokenId id = 0; id < tokenizer.size(); ++id) characters.push_back(PlainCharacters(spelling.Of(id)));
  return characters;
}

PlainTokens::PlainTokens(const Tokenizer& tokenizer, const Spelling& spelling, const TokenTrie& whole)
    : PlainTokens(tokenizer.size(), Characters(tokenizer, spelling), whole) {}

PlainTokens::PlainTokens(int32_t tokens, const std::vector<uint16_t>& characters, const TokenTrie& whole)
    : plain_(whole, Kept(characters, true)), others_(whole, Kept(characters, false)) {
  const auto& nodes = plain_.nodes();
  const auto count = static_cast<uint32_t>(nodes.size()) - 1;
  longest_below_.resize(count);
  uint16_t longest = 0;
  for (uint32_t node = count; node-- > 0;) {
    uint16_t& most = longest_below_[node];
    for (const TokenId id : plain_.TokensAt(node)) most = std::max(most, characters[static_cast<size_t>(id)]);
    for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
      most = std::max(most, longest_below_[child]);
    }
    longest = std::max(longest, most);
  }
  std::vector<std::vector<TokenId>> by_length(size_t{longest} + 1);
  for (uint32_t node = 0; node < count; ++node) {
    for (const TokenId id : plain_.TokensAt(node)) by_length[characters[static_cast<size_t>(id)]].push_back(id);
  }
  TokenMask mask(tokens);
  for (const auto& ids : by_length) {
    for (const TokenId id : ids) mask.Allow(id);
    up_to_.push_back(mask);
  }
}

}  // namespace inferflux::text
