// Any text as each of a Hugging Face directory's JSON files. The first byte chooses which.
#include <string_view>

#include "formats/huggingface/hf_config.h"
#include "formats/huggingface/hf_generation_config.h"
#include "formats/huggingface/hf_tokenizer.h"
#include "formats/huggingface/hf_tokenizer_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
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
      break;
    }
    default:
      (void)ParseHfTokenizerConfig(std::move(*root));
  }
  return 0;
}
