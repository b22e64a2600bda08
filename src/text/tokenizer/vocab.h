// The input of a tokenizer: plain structs that a floor above fills from a model's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "text/tokenizer/pre_tokenizer/pre_tokenizer_rules.h"

namespace inferflux::text {

// The role of a token, with the numbers of GGUF's tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,      // replaces text that the vocabulary cannot spell
  kControl = 3,      // structure (<|im_start|>, </s>): only trusted text may match it
  kUserDefined = 4,  // matched whole in any text, before any other split
  kUnused = 5,       // a slot that no text maps to
  kByte = 6,         // "<0x0A>": one raw byte
};

// When a SentencePiece tokenizer prepends a space to a run of text (a run ends where a whole token is matched).
// kFirstRun and kEveryUnspacedRun, as in Hugging Face's Metaspace, do not change a run that begins with a space;
// kEveryRun, SentencePiece's own rule, does.
enum class SpacePrefix : uint8_t { kNever, kFirstRun, kEveryUnspacedRun, kEveryRun };

struct VocabSpec {
  // The algorithm, by GGUF's names: "gpt2" byte-level BPE, "llama" SentencePiece BPE by scores, "gemma4" the same by
  // merges, "t5" SentencePiece unigram, "bert" WordPiece (word starts carry U+2581), "rwkv" greedy longest match.
  std::string model;
  const PreTokenizerRules* pre_tokenizer = nullptr;  // byte-level BPE's; outlives the tokeniser

  std::vector<std::string> tokens;  // by id
  std::vector<TokenKind> kinds;     // as long as tokens, or empty: all normal
  std::vector<float> scores;        // as long as tokens, or empty if the algorithm does not use them

  std::optional<TokenId> bos, eos, eot, eom, unk, sep, cls, pad, mask;
  std::vector<TokenId> end_of_generation;
  bool add_bos = false;
  bool add_eos = false;

  SpacePrefix space_prefix = SpacePrefix::kNever;
  bool remove_extra_whitespaces = false;
  std::string charsmap;  // SentencePiece's precompiled_charsmap; empty: text is not normalised

  bool lowercase = true;  // WordPiece's normaliser
  bool strip_accents = true;

  std::vector<TokenId> strips_left;   // whole tokens that absorb the white space before them
  std::vector<TokenId> strips_right;  // and those that absorb the white space after them
};

// Pairs to merge, "left right", the earliest first. Empty if the algorithm merges by scores or not at all.
struct MergeSpec {
  std::vector<std::string> merges;
};

}  // namespace inferflux::text
