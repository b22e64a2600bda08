#include "model/huggingface/directory_vocab.h"

#include <utility>

#include "formats/huggingface/hf_vocab.h"
#include "model/huggingface/pre_tokenizer_name.h"

namespace inferflux::model {

Status WriteDirectoryVocab(const std::string& directory, const formats::HfConfig& config, std::string pre,
                           formats::GgufWriter& writer) {
  const auto tokenizer = formats::ReadHfTokenizer(directory);
  if (!tokenizer) return tl::make_unexpected(tokenizer.error());
  const auto tokenizer_config = formats::ReadHfTokenizerConfig(directory);
  if (!tokenizer_config) return tl::make_unexpected(tokenizer_config.error());
  const auto generation = formats::ReadHfGenerationConfig(directory);
  if (!generation) return tl::make_unexpected(generation.error());
  const auto kind = formats::ClassifyHfVocab(*tokenizer);
  if (!kind) return tl::make_unexpected(kind.error());
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
                               writer);
}

}  // namespace inferflux::model
