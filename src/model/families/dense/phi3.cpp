// Phi-3, Phi-3.5, Phi-4 and their mini sizes (arXiv:2404.14219, 2503.01743): q, k and v are one tensor, gate and up
// another. LongRoPE extends the long-context models, and Phi-4-mini rotates a part of each head.
#include <algorithm>
#include <cctype>
#include <string>

#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

// Phi-3's tokenizer removes the white space after its markers. GGUF has no key for that.
void StripBehindMarkers(const formats::GgufMetadata& metadata, text::VocabSpec& vocab) {
  if (!vocab.strips_right.empty()) return;
  auto name = metadata.GetOr<std::string>("general.name", "");
  if (!name) return;
  std::transform(name->begin(), name->end(), name->begin(), [](unsigned char c) { return std::tolower(c); });
  if (!name->starts_with("phi-3") && !name->starts_with("phi3")) return;
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const std::string& token = vocab.tokens[id];
    if (token == "<unk>" || token == "<s>" || token == "<|endoftext|>") continue;
    const bool whole = vocab.kinds[id] == text::TokenKind::kControl || vocab.kinds[id] == text::TokenKind::kUserDefined;
    if (whole) vocab.strips_right.push_back(static_cast<TokenId>(id));
  }
}

Result<ModelConfig> ReadPhi3(const ModelSource& source, int32_t context) { return ReadDecoderConfig(source, context); }

}  // namespace

const Family& Phi3() {
  static const Family family{.architecture = "phi3",
                             .read = ReadPhi3,
                             .checkpoints = {{.model_types = {"phi3"},
                                              .own_tensors = {{"layers.*.self_attn.qkv_proj", "blk.*.attn_qkv"},
                                                              {"layers.*.mlp.gate_up_proj", "blk.*.ffn_up"}}}},
                             .tokenizers = {.turn_markers = {"<|system|>", "<|user|>", "<|assistant|>", "<|end|>",
                                                             "<|endoftext|>", "<|im_sep|>"},
                                            .generation_ends = {"<|end|>", "<|endoftext|>"},
                                            .adjust = StripBehindMarkers}};
  return family;
}

}  // namespace inferflux::model
