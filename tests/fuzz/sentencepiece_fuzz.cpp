// Any bytes as a SentencePiece model, and the tokenizer made from it.
#include <string_view>

#include "cpu_limit.h"
#include "formats/huggingface/hf_vocab.h"
#include "formats/huggingface/sentencepiece_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  using namespace inferflux::formats;
  static const HfTokenizerConfig config = *ParseHfTokenizerConfig(
      *JsonObject::Parse(R"({"eos_token":"</s>","added_tokens_decoder":{"7":{"content":"<x>","special":true}}})",
                         "tokenizer_config.json"));
  const std::string_view model(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = MakeSentencePieceTokenizer(model, "fuzz", config, R"({"<tool>": 9})");
  if (!tokenizer) return 0;
  if (tokenizer->tokens.size() != tokenizer->present.size() || tokenizer->tokens.size() != tokenizer->scores.size())
    __builtin_trap();
  GgufMetadataBuilder metadata;
  const auto written = WriteHfVocab(
      {.tokenizer = *tokenizer, .config = &config, .rows = static_cast<uint32_t>(tokenizer->tokens.size())}, metadata);
  if (!written) __builtin_trap();
  return 0;
}
