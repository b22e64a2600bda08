// Facts about a family's tokenizers that no file stores: the rules for the names of tokenizer.ggml.pre, and the tokens
// that structure a conversation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/gguf_metadata.h"
#include "text/tokenizer/pre_tokenizer/pre_tokenizer_rules.h"
#include "text/tokenizer/vocab.h"

namespace inferflux::model {

struct NamedPreTokenizer {
  std::vector<std::string_view> names;  // of tokenizer.ggml.pre; converters write the first
  text::PreTokenizerRules rules;
  bool adds_bos = false;  // texts begin with bos if the file does not say
};

struct TokenizerTraits {
  std::vector<NamedPreTokenizer> pre_tokenizers = {};
  // Tokens that are never literal text: they are control tokens, whatever kind a file gives them.
  std::vector<std::string_view> turn_markers = {};
  std::vector<std::string_view> generation_ends = {};  // control tokens with these names end a generation
  // Names of tokenizer.ggml.pre whose byte-level vocabularies follow SentencePiece's rules.
  std::vector<std::string_view> sentencepiece_names = {};
  // Corrects a file's wrong or missing settings. Called for each vocabulary, whatever its architecture.
  void (*adjust)(const formats::GgufMetadata& metadata, text::VocabSpec& vocab) = nullptr;
};

// For `adjust`: whether the token with that name ends a generation; and removes it from those that do.
bool EndsGeneration(const text::VocabSpec& vocab, std::string_view token);
void DropGenerationEnd(text::VocabSpec& vocab, std::string_view token);

// Tokenizers of models whose family is not implemented here: other engines run them.
const TokenizerTraits& OtherTokenizers();

// The traits of all families in the table's order, then OtherTokenizers().
const std::vector<const TokenizerTraits*>& AllTokenizerTraits();

// The row that contains `name`; null if there is none.
const NamedPreTokenizer* FindPreTokenizer(std::string_view name);

// "afmoe, bailingmoe, ...": all names, for error messages.
std::string PreTokenizerNames();

}  // namespace inferflux::model
