// GLM-4-0414 (THUDM, 2025; arXiv:2406.12793): norms before and after each sub-layer, biases on q, k and v, gate and up
// as one tensor. Half of each head rotates, in neighbouring pairs. The text of GLM-4.1V (arXiv:2507.01006) is the same;
// GGUF files made for images have RoPE's sections, and pairs half a head apart.
#include <algorithm>
#include <vector>

#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/vision/rope_sections.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGlm4Keys = R"({
  "read": {"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
    "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "hidden_act": "silu",
    "max_position_embeddings": 131072, "rms_norm_eps": 1.5625e-07, "tie_word_embeddings": false,
    "attention_bias": true, "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "rope_parameters": null,
    "rope_scaling": null}
})";

constexpr std::string_view kGlm4vKeys = R"({
  "read": {"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
    "num_attention_heads": 32, "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "rope_theta": 10000.0, "partial_rotary_factor": null,
    "rope_parameters": null, "rope_scaling": null, "rope_parameters.mrope_section": null},
  "only": {"attention_bias": [true]},
  "nullable": ["num_key_value_heads"]
})";

// Text needs no sections, and without them the file's pairs are the checkpoint's.
Status PrepareGlm4v(formats::HfConfig& config) {
  if (auto read = ReadRopeSections(config, {}); !read) return read;
  config.rope_sections.clear();
  return {};
}

Result<ModelConfig> ReadGlm4(const ModelSource& source, int32_t context) {
  constexpr const char* kSections = "glm4.rope.dimension_sections";
  auto style = compute::RopeStyle::kInterleaved;
  if (source.metadata().Contains(kSections)) {
    const auto sections = source.metadata().Get<std::vector<int32_t>>(kSections);
    if (!sections) return Forward(sections);
    if (std::ranges::any_of(*sections, [](int32_t pairs) { return pairs != 0; })) style = compute::RopeStyle::kHalves;
  }
  return ReadDecoderConfig(source, context, {.rope_style = style, .output_norms = true});
}

const std::vector<TensorName> kGlm4Tensors{{"layers.*.post_self_attn_layernorm", "blk.*.post_attention_norm"},
                                           {"layers.*.post_mlp_layernorm", "blk.*.post_ffw_norm"},
                                           {"layers.*.mlp.gate_up_proj", "blk.*.ffn_up"}};

}  // namespace

const Family& Glm4() {
  static const Family family{
      .architecture = "glm4",
      .read = ReadGlm4,
      .checkpoints = {
          {.model_types = {"glm4"}, .keys = kGlm4Keys, .own_tensors = kGlm4Tensors},
          {.model_types = {"glm4v_text"}, .keys = kGlm4vKeys, .own_tensors = kGlm4Tensors, .prepare = PrepareGlm4v}}};
  return family;
}

}  // namespace inferflux::model
