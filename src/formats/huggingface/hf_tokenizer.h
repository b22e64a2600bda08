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
  bool strips_left = false;  // swallows whitespace before it
  bool strips_right = false;
  bool single_word = false;
  bool normalized = true;
};

struct HfTokenizer {
  std::string model;  // "BPE", "Unigram", "WordPiece"
  // By id, the added tokens among them. `present` is false where no token has the id.
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

// Ids must be distinct and below 4 times the count of tokens plus 65536; merges must name two tokens each.
Result<HfTokenizer> ParseHfTokenizer(JsonObject root);
Result<HfTokenizer> ReadHfTokenizer(const std::string& directory);

// "special", "lstrip" and the others of an added token's entry; a flag that is absent stays as it is.
Status ReadHfTokenFlags(const JsonObject& entry, HfAddedToken& token);

}  // namespace inferflux::formats
