#include "text/tokenizer/whole_token_matcher.h"

namespace inferflux::text {

WholeTokenMatcher::WholeTokenMatcher(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    const bool control = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
    const std::string_view text = vocabulary.Bytes(id);
    if ((!control && kind != TokenKind::kUserDefined) || text.empty()) continue;
    const ByteTrie::Node node = trie_.Insert(text);
    if (trie_.ValueAt(node) == ByteTrie::kNoValue) {
      trie_.SetValue(node, static_cast<int32_t>(entries_.size()));
      entries_.emplace_back();
    }
    Entry& entry = entries_[trie_.ValueAt(node)];
    TokenId& slot = control ? entry.control : entry.user_defined;
    if (slot == kNoToken) slot = id;
  }
}

std::optional<WholeToken> WholeTokenMatcher::MatchAt(std::string_view text, size_t at, size_t trusted_end) const {
  std::optional<WholeToken> longest;
  ByteTrie::Node node = ByteTrie::kRoot;
  for (size_t end = at; end < text.size();) {
    node = trie_.Step(node, text[end++]);
    if (node == ByteTrie::kNone) break;
    const int32_t value = trie_.ValueAt(node);
    if (value == ByteTrie::kNoValue) continue;
    const Entry& entry = entries_[value];
    if (entry.control != kNoToken && end <= trusted_end) {
      longest = {entry.control, at, end};
    } else if (entry.user_defined != kNoToken) {
      longest = {entry.user_defined, at, end};
    }
  }
  return longest;
}

std::vector<WholeToken> WholeTokenMatcher::FindAll(std::string_view text, std::span<const TextRange> trusted) const {
  std::vector<WholeToken> found;
  if (entries_.empty()) return found;
  size_t range = 0;
  for (size_t at = 0; at < text.size();) {
    while (range < trusted.size() && trusted[range].end <= at) ++range;
    const bool inside = range < trusted.size() && trusted[range].begin <= at;
    if (const auto match = MatchAt(text, at, inside ? trusted[range].end : 0)) {
      found.push_back(*match);
      at = match->end;
    } else {
      ++at;
    }
  }
  return found;
}

}  // namespace inferflux::text
