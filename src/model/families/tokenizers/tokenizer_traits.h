// What is known of the tokenizers of a family and no file says: the rules behind the names of tokenizer.ggml.pre, and
// which tokens give a conversation its structure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/gguf_metadata.h"
#include "text/tokenizer/pre_tokenizer/pre_tokenizer_rules.h"
#include "text/tokenizer/vocab.h"

namespace inferflux::model {

struct NamedPreTokenizer {
  std::vector<std::string_view> names;  // of tokenizer.ggml.pre; the first is what a converted file gets
  text::PreTokenizerRules rules;
  bool adds_bos = false;  // texts begin with bos where the file does not say it
};

struct TokenizerTraits {
  std::vector<NamedPreTokenizer> pre_tokenizers = {};
  // Tokens that nobody means literally: whatever kind a file gives them, they are structure.
  std::vector<std::string_view> turn_markers = {};
  std::vector<std::string_view> generation_ends = {};  // tokens that end a generation, where they are control tokens
  // Names of tokenizer.ggml.pre whose byte-level vocabularies are SentencePiece's in all but name.
  std::vector<std::string_view> sentencepiece_names = {};
  // Mends what a file says wrongly or not at all; called for each vocabulary, whatever its architecture is said to be.
  void (*adjust)(const formats::GgufMetadata& metadata, text::VocabSpec& vocab) = nullptr;
};

// For `adjust`: whether the token of that name ends a generation, and that it does not.
bool EndsGeneration(const text::VocabSpec& vocab, std::string_view token);
void DropGenerationEnd(text::VocabSpec& vocab, std::string_view token);

// Tokenizers of models that no family here computes: they are tokenised for other engines.
const TokenizerTraits& OtherTokenizers();

// Those of all families, in the table's order, then the others.
const std::vector<const TokenizerTraits*>& AllTokenizerTraits();

// The row that `name` is in; null where none is.
const NamedPreTokenizer* FindPreTokenizer(std::string_view name);

// "afmoe, bailingmoe, ...": every name, for error messages.
std::string PreTokenizerNames();

}  // namespace inferflux::model
