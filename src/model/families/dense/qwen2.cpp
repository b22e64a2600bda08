// Qwen2 and Qwen2.5 (arXiv:2407.10671): Llama's layer with biases on q, k and v.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadQwen2(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qkv_bias = true});
}

}  // namespace

const Family& Qwen2() {
  static const Family family{.architecture = "qwen2",
                             .read = ReadQwen2,
                             .checkpoints = {{.model_types = {"qwen2"}}},
                             .tokenizers = {.pre_tokenizers = {{{"qwen2"}, {words::kCl100kOneDigit, /*nfc=*/true}}},
                                            .turn_markers = {"<|im_start|>", "<|im_end|>", "<|endoftext|>"},
                                            .generation_ends = {"<|im_end|>", "<|endoftext|>"}}};
  return family;
}

}  // namespace inferflux::model
