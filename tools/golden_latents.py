"""What golden_gguf.py writes otherwise for models with latent attention: implemented a second time, on purpose."""
import json

import gguf
import numpy as np
import torch
from safetensors.torch import load_file, save_file

ARCH = gguf.MODEL_ARCH
LATENTS = {ARCH.DEEPSEEK2, ARCH.GLM_DSA, "deepseek32"}


def tensors(config, model):
    """(name, data): GGUF's names where gguf's table has none, else transformers'."""
    for name, tensor in model.state_dict().items():
        data = tensor.numpy().astype(np.float32)
        layer = f"blk.{name.split('.layers.')[1].split('.')[0]}." if ".layers." in name else ""
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if name.endswith("kv_b_proj.weight"):  # what each head makes of a latent: keys, transposed, and values
            heads = data.reshape(config.num_attention_heads, -1, config.kv_lora_rank)
            keys, values = np.split(heads, [config.qk_nope_head_dim], axis=1)
            yield layer + "attn_k_b.weight", keys.swapaxes(1, 2)
            yield layer + "attn_v_b.weight", values
        elif name.endswith("e_score_correction_bias"):
            yield layer + "exp_probs_b.bias", data
        elif name.endswith("experts.gate_up_proj"):
            gate, up = np.split(data, 2, axis=1)
            yield layer + "ffn_gate_exps.weight", gate
            yield layer + "ffn_up_exps.weight", up
        elif name.endswith("experts.down_proj"):
            yield layer + "ffn_down_exps.weight", data
        else:
            yield name, data


def scaling(w, rope):
    w.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] != "yarn":
        return
    w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    w.add_rope_scaling_factor(rope["factor"])
    w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    w.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    if rope["mscale"] != rope["mscale_all_dim"]:  # llama.cpp's converter never writes it: published models need none
        scale = [0.1 * rope[key] * np.log(rope["factor"]) + 1 for key in ("mscale", "mscale_all_dim")]
        w.add_rope_scaling_yarn_attn_factor(scale[0] / scale[1])
    if "beta_fast" in rope:
        w.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])


def metadata(w, config):
    softmax = config.model_type == "deepseek_v2"
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_head_count_kv(1)
    w.add_key_length(config.kv_lora_rank + config.qk_rope_head_dim)
    w.add_value_length(config.kv_lora_rank)
    w.add_key_length_mla(config.qk_nope_head_dim + config.qk_rope_head_dim)
    w.add_value_length_mla(config.v_head_dim)
    w.add_kv_lora_rank(config.kv_lora_rank)
    if config.q_lora_rank is not None:
        w.add_q_lora_rank(config.q_lora_rank)
    w.add_rope_dimension_count(config.qk_rope_head_dim)
    w.add_layer_norm_rms_eps(config.rms_norm_eps)
    scaling(w, config.rope_parameters)
    w.add_expert_count(config.n_routed_experts)
    w.add_expert_used_count(config.num_experts_per_tok)
    w.add_expert_feed_forward_length(config.moe_intermediate_size)
    w.add_expert_shared_count(config.n_shared_experts)
    w.add_expert_weights_scale(config.routed_scaling_factor)
    w.add_expert_weights_norm(not softmax and config.norm_topk_prob)
    w.add_expert_gating_func(gguf.ExpertGatingFuncType.SOFTMAX if softmax else gguf.ExpertGatingFuncType.SIGMOID)
    kinds = getattr(config, "mlp_layer_types", None)
    w.add_leading_dense_block_count(kinds.count("dense") if kinds else config.first_k_dense_replace)
    if config.n_group:
        w.add_expert_group_count(config.n_group)
        w.add_expert_group_used_count(config.topk_group)
    if hasattr(config, "index_topk"):
        w.add_uint32(f"{w.arch}.attention.indexer.head_count", config.index_n_heads)
        w.add_uint32(f"{w.arch}.attention.indexer.key_length", config.index_head_dim)
        w.add_uint32(f"{w.arch}.attention.indexer.top_k", config.index_topk)


def as_published(directory, name):
    """Edits a directory that transformers saved: DeepSeek's has a layer that predicts a further token, and Kimi's has a
    model type that transformers does not know, old spelling, and keys of training."""
    path = directory / "config.json"
    config = json.loads(path.read_text())
    if name == "deepseek_v3":
        tensors = load_file(directory / "model.safetensors")
        tensors[f"model.layers.{config['num_hidden_layers']}.eh_proj.weight"] = torch.zeros(24, 48)
        save_file(tensors, directory / "model.safetensors")
    elif name == "kimi_k2":
        rope = config.pop("rope_parameters")
        config |= dict(model_type="kimi_k2", rope_theta=rope.pop("rope_theta"), moe_layer_freq=1, scoring_func="sigmoid",
                       topk_method="noaux_tc", aux_loss_alpha=0.001, seq_aux=True, ep_size=1, num_nextn_predict_layers=0,
                       auto_map={"AutoConfig": "configuration_deepseek.DeepseekV3Config"})
        rope["type"] = rope.pop("rope_type")
        config["rope_scaling"] = rope
        for key in ("head_dim", "qk_head_dim", "rope_interleave"):
            del config[key]
    else:
        return
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
