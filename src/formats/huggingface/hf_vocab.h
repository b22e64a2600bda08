// A Hugging Face tokenizer as GGUF metadata ("tokenizer.ggml.*", "tokenizer.chat_template").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_generation_config.h"
#include "formats/huggingface/hf_tokenizer.h"
#include "formats/huggingface/hf_tokenizer_config.h"

namespace inferflux::formats {

// Our own keys, for facts that have no key in GGUF. Written only if they differ from the default, and read by
// model/loading/vocab_from_gguf.
inline constexpr std::string_view kEndsKey = "inferflux.tokenizer.end_of_generation";  // ids, where more than three
inline constexpr std::string_view kPairSeparatorsKey = "inferflux.tokenizer.pair_separators";  // between two texts
inline constexpr std::string_view kSpacePrefixKey = "inferflux.tokenizer.space_prefix";        // "first", "unspaced"
inline constexpr std::string_view kStripsLeftKey = "inferflux.tokenizer.strips_left";          // ids
inline constexpr std::string_view kStripsRightKey = "inferflux.tokenizer.strips_right";

enum class HfVocabKind {
  kByteLevelBpe,      // GGUF's "gpt2"
  kSentencePieceBpe,  // GGUF's "llama": merges become scores
  kUnigram,           // GGUF's "t5"
  kWordPiece,         // GGUF's "bert"
};

// kUnsupported if the kind has no metadata here, or cannot be determined.
Result<HfVocabKind> ClassifyHfVocab(const HfTokenizer& tokenizer);

// How a byte-level tokenizer splits text before it merges: its passes in order. ByteLevel's own rule counts as a pass
// of GPT-2's pattern, "Digits" as a pass of \p{N} or \p{N}+. kUnsupported names any other step.
Result<std::vector<std::string>> ReadHfSplitPatterns(const HfTokenizer& tokenizer);

// Whether text is first converted to Normalization Form C.
Result<bool> NormalizesToNfc(const HfTokenizer& tokenizer);

struct HfVocabParts {
  const HfTokenizer& tokenizer;
  const HfTokenizerConfig* config = nullptr;       // may be null
  const HfGenerationConfig* generation = nullptr;  // may be null
  std::string_view pre;                            // tokenizer.ggml.pre, for byte-level vocabularies
  uint32_t rows = 0;                               // of the model's embeddings; missing tokens are filled up
  std::optional<TokenId> bos;                      // config.json's, if the tokenizer has none
  std::vector<TokenId> eos;
};

// kDataLoss if the tokenizer has more tokens than the model has rows; the error names both numbers.
Status WriteHfVocab(const HfVocabParts& parts, GgufMetadataBuilder& metadata);

}  // namespace inferflux::formats
