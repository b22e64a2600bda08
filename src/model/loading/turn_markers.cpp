#include "model/loading/turn_markers.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/families/tokenizers/tokenizer_traits.h"

namespace inferflux::model {
namespace {

using text::TokenKind;

using Names = std::unordered_set<std::string_view>;

// Of all families, because a vocabulary does not name its family.
Names AllNames(std::vector<std::string_view> TokenizerTraits::*of_family) {
  Names names;
  for (const TokenizerTraits* traits : AllTokenizerTraits()) {
    names.insert((traits->*of_family).begin(), (traits->*of_family).end());
  }
  return names;
}

}  // namespace

void MarkControlTokens(text::VocabSpec& vocab) {
  vocab.kinds.resize(vocab.tokens.size(), TokenKind::kNormal);
  const auto mark = [&](size_t id) {
    TokenKind& kind = vocab.kinds[id];
    if (kind == TokenKind::kNormal || kind == TokenKind::kUserDefined) kind = TokenKind::kControl;
  };
  const Names markers = AllNames(&TokenizerTraits::turn_markers);
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (markers.contains(vocab.tokens[id])) mark(id);
  }
  for (const auto& id : {vocab.bos, vocab.eos, vocab.eot, vocab.eom}) {
    if (id) mark(*id);
  }
}

void FindEndOfGeneration(text::VocabSpec& vocab) {
  auto& ends = vocab.end_of_generation;
  const Names names = AllNames(&TokenizerTraits::generation_ends);
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (vocab.kinds[id] == TokenKind::kControl && names.contains(vocab.tokens[id])) {
      ends.push_back(static_cast<TokenId>(id));
    }
  }
  for (const auto& id : {vocab.eos, vocab.eot, vocab.eom}) {
    if (id && std::find(ends.begin(), ends.end(), *id) == ends.end()) ends.push_back(*id);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

}  // namespace inferflux::model
