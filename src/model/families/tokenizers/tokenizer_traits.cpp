#include "model/families/tokenizers/tokenizer_traits.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "model/families/family.h"

namespace inferflux::model {

bool EndsGeneration(const text::VocabSpec& vocab, std::string_view token) {
  return std::ranges::any_of(vocab.end_of_generation, [&](TokenId id) { return vocab.tokens[id] == token; });
}

void DropGenerationEnd(text::VocabSpec& vocab, std::string_view token) {
  std::erase_if(vocab.end_of_generation, [&](TokenId id) { return vocab.tokens[id] == token; });
}

const std::vector<const TokenizerTraits*>& AllTokenizerTraits() {
  static const std::vector<const TokenizerTraits*> all = [] {
    std::vector<const TokenizerTraits*> out;
    for (const Family* family : Families()) out.push_back(&family->tokenizers);
    out.push_back(&OtherTokenizers());
    return out;
  }();
  return all;
}

const NamedPreTokenizer* FindPreTokenizer(std::string_view name) {
  for (const TokenizerTraits* traits : AllTokenizerTraits()) {
    for (const NamedPreTokenizer& row : traits->pre_tokenizers) {
      if (std::ranges::find(row.names, name) != row.names.end()) return &row;
    }
  }
  return nullptr;
}

std::string PreTokenizerNames() {
  std::vector<std::string_view> names;
  for (const TokenizerTraits* traits : AllTokenizerTraits()) {
    for (const NamedPreTokenizer& row : traits->pre_tokenizers) {
      names.insert(names.end(), row.names.begin(), row.names.end());
    }
  }
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace inferflux::model
