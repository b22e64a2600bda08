// DeepSeek V3.2 (arXiv:2512.02556): V3 whose attention reads only the tokens that an indexer selects. The indexer's
// keys rotate in halves, unlike attention's.
#include "model/families/family.h"
#include "model/families/latent/prepare_latents.h"
#include "model/families/latent/read_latents.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kDeepseek32Keys = R"({
  "read": {"vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "n_shared_experts": 1,
    "n_routed_experts": 256, "routed_scaling_factor": 2.5, "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128, "n_group": 8, "topk_group": 4,
    "num_experts_per_tok": 8, "norm_topk_prob": true, "hidden_act": "silu", "max_position_embeddings": 163840,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "mlp_layer_types": null, "attention_bias": false,
    "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 64, "first_k_dense_replace": 3, "rope_theta": 10000.0,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"mlp_bias": [false], "rope_interleave": [true], "indexer_rope_interleave": [false], "moe_layer_freq": [1],
    "scoring_func": ["sigmoid"], "topk_method": ["noaux_tc"]},
  "unused": ["head_dim", "qk_head_dim", "layer_types", "output_router_logits", "pretraining_tp",
    "num_nextn_predict_layers", "aux_loss_alpha", "seq_aux", "ep_size"],
  "names": {"num_local_experts": "n_routed_experts", "num_experts": "n_routed_experts"}
})";

Result<ModelConfig> ReadDeepseek32(const ModelSource& source, int32_t context) {
  return ReadSparseDecoder(source, context, compute::RopeStyle::kHalves);
}

}  // namespace

const Family& Deepseek32() {
  static const Family family{.architecture = "deepseek32",
                             .read = ReadDeepseek32,
                             .checkpoints = {SparseCheckpoint("deepseek_v32", kDeepseek32Keys)}};
  return family;
}

}  // namespace inferflux::model
