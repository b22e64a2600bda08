// Any text as each of a Hugging Face directory's JSON files. The first byte chooses which.
#include <string_view>

#include "cpu_limit.h"
#include "formats/huggingface/hf_config.h"
#include "formats/huggingface/hf_generation_config.h"
#include "formats/huggingface/hf_tokenizer.h"
#include "formats/huggingface/hf_tokenizer_config.h"
#include "formats/huggingface/hf_vocab.h"

namespace {

void WriteVocab(const inferflux::formats::HfTokenizer& tokenizer) {
  using namespace inferflux::formats;
  (void)ReadHfSplitPatterns(tokenizer);
  GgufMetadataBuilder metadata;
  const auto rows = static_cast<uint32_t>(tokenizer.tokens.size());
  (void)WriteHfVocab({.tokenizer = tokenizer, .pre = "gpt-2", .rows = rows}, metadata);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  using namespace inferflux::formats;
  if (size == 0) return 0;
  auto root = JsonObject::Parse({reinterpret_cast<const char*>(data) + 1, size - 1}, "fuzz.json");
  if (!root) return 0;
  switch (data[0] % 4) {
    case 0:
      (void)ParseHfConfig(std::move(*root));
      break;
    case 1:
      (void)ParseHfGenerationConfig(*root);
      break;
    case 2: {
      const auto tokenizer = ParseHfTokenizer(std::move(*root));
      if (tokenizer && tokenizer->tokens.size() != tokenizer->present.size()) __builtin_trap();
      if (tokenizer) WriteVocab(*tokenizer);
      break;
    }
    default:
      (void)ParseHfTokenizerConfig(std::move(*root));
  }
  return 0;
}
