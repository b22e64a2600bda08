// Phi-3, Phi-3.5, Phi-4 and their mini sizes (arXiv:2404.14219, 2503.01743): q, k and v are one tensor, gate and up
// another. LongRoPE extends the long-context models, and Phi-4-mini rotates a part of each head.
#include <algorithm>
#include <cctype>
#include <string>

#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kPhi3Keys = R"({
  "read": {"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 4096,
    "original_max_position_embeddings": 4096, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
    "sliding_window": null, "head_dim": null, "rope_theta": 10000.0, "partial_rotary_factor": null,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"attention_bias": [false], "mlp_bias": [false], "lm_head_bias": [false], "full_attn_mod": [1],
    "interpolate_factor": [1]}
})";

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

// Early files call LongRoPE "su" or "yarn".
Status PreparePhi3(formats::HfConfig& config) {
  if (!config.rope_scaling) return {};
  std::string& type = config.rope_scaling->type;
  if (type == "su" || type == "yarn") type = "longrope";
  if (type == "longrope") return {};
  return Fail(ErrorCode::kUnsupported, "{}: RoPE scaling '{}' is not supported; of model_type 'phi3' only longrope is",
              config.raw.source(), type);
}

Result<ModelConfig> ReadPhi3(const ModelSource& source, int32_t context) { return ReadDecoderConfig(source, context); }

}  // namespace

const Family& Phi3() {
  static const Family family{.architecture = "phi3",
                             .read = ReadPhi3,
                             .checkpoints = {{.model_types = {"phi3"},
                                              .keys = kPhi3Keys,
                                              .own_tensors = {{"layers.*.self_attn.qkv_proj", "blk.*.attn_qkv"},
                                                              {"layers.*.mlp.gate_up_proj", "blk.*.ffn_up"}},
                                              .prepare = PreparePhi3}},
                             .tokenizers = {.turn_markers = {"<|system|>", "<|user|>", "<|assistant|>", "<|end|>",
                                                             "<|endoftext|>", "<|im_sep|>"},
                                            .generation_ends = {"<|end|>", "<|endoftext|>"},
                                            .adjust = StripBehindMarkers}};
  return family;
}

}  // namespace inferflux::model
