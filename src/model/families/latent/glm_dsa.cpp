// GLM-5 (Z.ai, 2026): DeepSeek V3.2's structure with an indexer whose keys rotate as attention's do. Some layers have
// no indexer and read what the layer before selected (arXiv:2603.12201): those without its tensors.
#include "model/families/family.h"
#include "model/families/latent/prepare_latents.h"
#include "model/families/latent/read_latents.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGlmDsaKeys = R"({
  "read": {"vocab_size": 154880, "hidden_size": 6144, "intermediate_size": 12288, "moe_intermediate_size": 2048,
    "num_hidden_layers": 78, "num_attention_heads": 64, "num_key_value_heads": 64, "n_shared_experts": 1,
    "n_routed_experts": 256, "routed_scaling_factor": 2.5, "kv_lora_rank": 512, "q_lora_rank": 2048,
    "qk_rope_head_dim": 64, "v_head_dim": 256, "qk_nope_head_dim": 192, "n_group": 1, "topk_group": 1,
    "num_experts_per_tok": 8, "norm_topk_prob": true, "hidden_act": "silu", "max_position_embeddings": 202752,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "mlp_layer_types": null, "attention_bias": false,
    "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 32, "first_k_dense_replace": 3, "rope_theta": 10000.0,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"mlp_bias": [false], "rope_interleave": [true], "indexer_rope_interleave": [true], "moe_layer_freq": [1],
    "scoring_func": ["sigmoid"], "topk_method": ["noaux_tc"]},
  "unused": ["head_dim", "qk_head_dim", "layer_types", "indexer_types", "index_topk_freq", "index_topk_pattern",
    "index_skip_topk_offset", "output_router_logits", "pretraining_tp", "num_nextn_predict_layers", "aux_loss_alpha",
    "seq_aux", "ep_size"],
  "names": {"num_local_experts": "n_routed_experts", "num_experts": "n_routed_experts"}
})";

Result<ModelConfig> ReadGlmDsa(const ModelSource& source, int32_t context) {
  return ReadSparseDecoder(source, context, compute::RopeStyle::kInterleaved);
}

}  // namespace

const Family& GlmDsa() {
  static const Family family{
      .architecture = "glm-dsa", .read = ReadGlmDsa, .checkpoints = {SparseCheckpoint("glm_moe_dsa", kGlmDsaKeys)}};
  return family;
}

}  // namespace inferflux::model
