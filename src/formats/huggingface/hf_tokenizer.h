// A Hugging Face model's tokenizer.json: the vocabulary and merges as plain data, the processing steps as raw JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "formats/huggingface/sentencepiece_rules.h"
#include "formats/json/json_object.h"

namespace inferflux::formats {

struct HfAddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;      // structure: never produced from a user's text
  bool strips_left = false;  // absorbs the white space before it
  bool strips_right = false;
  bool single_word = false;
  bool normalized = true;
};

struct HfTokenizer {
  std::string model;  // "BPE", "Unigram", "WordPiece"
  // By id, including the added tokens. `present` is false for ids without a token.
  std::vector<std::string> tokens;
  std::vector<bool> present;
  std::vector<float> scores;        // as long as tokens, or empty. Unigram: log-probabilities
  std::vector<std::string> merges;  // BPE only: "left right", the earliest first
  std::vector<HfAddedToken> added_tokens;
  std::optional<std::string> unk_token;
  bool byte_fallback = false;
  bool ignore_merges = false;
  std::string continuing_subword_prefix;  // WordPiece: "##"
  uint32_t max_input_chars_per_word = 100;
  std::optional<SentencePieceRules> rules;  // of a ".model" file, which has no steps in JSON
  JsonObject root;                          // normalizer, pre_tokenizer, post_processor, decoder, and everything else
};

// Ids must be distinct and below 4 * the number of tokens + 65536. Each merge must name two tokens.
Result<HfTokenizer> ParseHfTokenizer(JsonObject root);
Result<HfTokenizer> ReadHfTokenizer(const std::string& directory);

// "special", "lstrip" and the other flags of an added token's entry. An absent flag does not change.
Status ReadHfTokenFlags(const JsonObject& entry, HfAddedToken& token);

}  // namespace inferflux::formats
