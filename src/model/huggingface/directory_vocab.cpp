#include "model/huggingface/directory_vocab.h"

#include <filesystem>
#include <utility>

#include "formats/huggingface/hf_vocab.h"
#include "formats/huggingface/sentencepiece_tokenizer.h"
#include "model/huggingface/pre_tokenizer_name.h"

namespace inferflux::model {
namespace {

bool HasFile(const std::string& directory, const char* name) {
  std::error_code ignored;  // if the status cannot be read, opening the file reports why
  return std::filesystem::exists(std::filesystem::path(directory) / name, ignored);
}

}  // namespace

bool HasVocab(const std::string& directory) {
  return HasFile(directory, "tokenizer.json") || HasFile(directory, "tokenizer.model") ||
         HasFile(directory, "spiece.model");
}

Status WriteDirectoryVocab(const std::string& directory, const formats::HfConfig& config, std::string pre,
                           formats::GgufMetadataBuilder& metadata) {
  const auto tokenizer_config = formats::ReadHfTokenizerConfig(directory);
  if (!tokenizer_config) return Forward(tokenizer_config);
  const auto tokenizer = HasFile(directory, "tokenizer.json")
                             ? formats::ReadHfTokenizer(directory)
                             : formats::ReadSentencePieceTokenizer(directory, *tokenizer_config);
  if (!tokenizer) return Forward(tokenizer);
  const auto generation = formats::ReadHfGenerationConfig(directory);
  if (!generation) return Forward(generation);
  const auto kind = formats::ClassifyHfVocab(*tokenizer);
  if (!kind) return Forward(kind);
  if (*kind == formats::HfVocabKind::kByteLevelBpe && pre.empty()) {
    auto found = FindPreTokenizerName(*tokenizer);
    if (!found) return Forward(found);
    pre = std::move(*found);
  }
  return formats::WriteHfVocab({.tokenizer = *tokenizer,
                                .config = &*tokenizer_config,
                                .generation = *generation ? &**generation : nullptr,
                                .pre = pre,
                                .rows = config.vocab_size,
                                .bos = config.bos,
                                .eos = config.eos},
                               metadata);
}

}  // namespace inferflux::model
