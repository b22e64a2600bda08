"""What golden_gguf.py writes otherwise for models with Mamba-2, and for Qwen3.5: implemented a second time, on purpose.

Also how published directories of these models differ from those that transformers saves today: old names, keys left out,
and a text model inside one that sees images."""
import json

import gguf
import numpy as np
import torch
from safetensors.torch import load_file, save_file

ARCH = gguf.MODEL_ARCH
STATE_SPACES = {ARCH.MAMBA2, ARCH.NEMOTRON_H, ARCH.NEMOTRON_H_MOE, ARCH.GRANITE_HYBRID, ARCH.FALCON_H1}
NEMOTRON = {ARCH.NEMOTRON_H, ARCH.NEMOTRON_H_MOE}
TILED = {ARCH.QWEN35, ARCH.QWEN35MOE}


def tile(data, config, axis=0):
    """Value heads, grouped by key head, as ggml repeats keys: the first head of each key head, then the second."""
    shape, keys, values = data.shape, config.linear_num_key_heads, config.linear_num_value_heads
    apart = data.reshape(*shape[:axis], keys, values // keys, shape[axis] // values, *shape[axis + 1:])
    return apart.swapaxes(axis, axis + 1).reshape(shape)


def tiled(name, data, config):
    """Qwen3.5's tensors in GGUF's order."""
    if ".linear_attn." not in name or name.endswith("linear_attn.norm.weight"):
        return data
    if "in_proj_qkv." in name or "conv1d" in name:
        rows = 2 * config.linear_num_key_heads * config.linear_key_head_dim
        return np.concatenate([data[:rows], tile(data[rows:], config)])
    return tile(data, config, axis=1) if "out_proj" in name else tile(data, config)


def falcon_factor(name, rows, config):
    """What Falcon-H1 multiplies the results of a matrix by."""
    if name.endswith("mamba.in_proj.weight"):
        states = config.mamba_n_groups * config.mamba_d_state
        parts = [config.mamba_d_ssm] * 2 + [states] * 2 + [config.mamba_n_heads]
        return config.ssm_in_multiplier * np.repeat(config.ssm_multipliers, parts)[:, None]
    before = config.attention_in_multiplier
    for end, factor in (("q_proj", before), ("k_proj", before * config.key_multiplier), ("v_proj", before),
                        ("o_proj", config.attention_out_multiplier), ("mamba.out_proj", config.ssm_out_multiplier),
                        ("gate_proj", config.mlp_multipliers[0]), ("down_proj", config.mlp_multipliers[1]),
                        ("embed_tokens", config.embedding_multiplier), ("lm_head", config.lm_head_multiplier)):
        if name.endswith(end + ".weight"):
            return factor
    return 1.0


def groups_of(config):
    return getattr(config, "mamba_n_groups", None) or config.n_groups


def state_space_tensors(architecture, config, model):
    """(name, data): GGUF's names where gguf's table has none, else transformers'."""
    for name, tensor in model.state_dict().items():
        data = tensor.numpy().astype(np.float32)
        if architecture in NEMOTRON:
            name = name.replace("model.", "backbone.", 1)
        if architecture == ARCH.FALCON_H1:
            data = data * np.float32(1) if data.ndim == 1 else (data.astype(np.float64) * falcon_factor(name, len(data), config)).astype(np.float32)
        elif name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        layer = f"blk.{name.split('.layers.')[1].split('.')[0]}." if ".layers." in name else ""
        if name.endswith("A_log"):
            yield layer + "ssm_a", -np.exp(data)[:, None]
        elif name.endswith((".mixer.D", ".mamba.D")):
            yield layer + "ssm_d", data[:, None]
        elif name.endswith("dt_bias"):
            yield layer + "ssm_dt.bias", data
        elif name.endswith((".mixer.norm.weight", ".mamba.norm.weight")):
            yield layer + "ssm_norm.weight", data.reshape(groups_of(config), -1)
        elif name.endswith("conv1d.weight"):
            yield layer + "ssm_conv1d.weight", data.squeeze(1)
        elif name.endswith("e_score_correction_bias"):
            yield layer + "exp_probs_b.bias", data
        elif name.endswith("pre_ff_layernorm.weight"):
            yield layer + "ffn_norm", data
        elif name.endswith("block_sparse_moe.router.weight"):
            yield layer + "ffn_gate_inp.weight", data
        elif name.endswith(("experts.gate_up_proj", "shared_mlp.input_linear.weight")):
            end = "_exps" if "experts" in name else "_shexp" if config.num_local_experts else ""
            gate, up = np.split(data, 2, axis=-2)
            yield f"{layer}ffn_gate{end}.weight", gate
            yield f"{layer}ffn_up{end}.weight", up
        elif name.endswith("shared_mlp.output_linear.weight"):
            yield f"{layer}ffn_down{'_shexp' if config.num_local_experts else ''}.weight", data
        elif name.endswith("experts.up_proj"):
            yield layer + "ffn_up_exps.weight", data
        elif name.endswith("experts.down_proj"):
            yield layer + "ffn_down_exps.weight", data
        else:
            yield name, data


def state_space_metadata(w, architecture, config):
    attention = architecture != ARCH.MAMBA2
    heads = getattr(config, "mamba_num_heads", None) or getattr(config, "mamba_n_heads", None) or config.num_heads
    inner = (config.hidden_size * config.expand if not attention else heads * config.mamba_head_dim
             if architecture in NEMOTRON else heads * config.mamba_d_head)
    w.add_ssm_conv_kernel(getattr(config, "conv_kernel", None) or config.mamba_d_conv)
    w.add_ssm_inner_size(inner)
    w.add_ssm_state_size(getattr(config, "ssm_state_size", None) or getattr(config, "state_size", None)
                         or config.mamba_d_state)
    w.add_ssm_time_step_rank(heads)
    w.add_ssm_group_count(groups_of(config))
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_context_length(getattr(config, "max_position_embeddings", 2**20))
    w.add_layer_norm_rms_eps(getattr(config, "rms_norm_eps", None) or config.layer_norm_epsilon)
    if not attention:
        w.add_head_count(0)
        w.add_feed_forward_length(0)
        return
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    w.add_head_count(config.num_attention_heads)
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    kinds = config.layer_types
    w.add_head_count_kv(config.num_key_value_heads if architecture == ARCH.FALCON_H1 else
                        [config.num_key_value_heads if kind == "full_attention" else 0 for kind in kinds])
    if architecture in NEMOTRON:
        moe = architecture == ARCH.NEMOTRON_H_MOE
        width = config.moe_intermediate_size if moe else config.intermediate_size
        w.add_feed_forward_length([width if kind in ("mlp", "moe") else 0 for kind in kinds])
        w.add_layer_norm_eps(config.layer_norm_epsilon)
        if moe:
            w.add_expert_count(config.n_routed_experts)
            w.add_expert_used_count(config.num_experts_per_tok)
            w.add_expert_feed_forward_length(config.moe_intermediate_size)
            w.add_expert_shared_feed_forward_length(config.moe_shared_expert_intermediate_size)
            w.add_expert_shared_count(config.n_shared_experts)
            w.add_expert_weights_norm(config.norm_topk_prob)
            w.add_expert_weights_scale(config.routed_scaling_factor)
            w.add_expert_group_count(config.n_group)
            w.add_expert_group_used_count(config.topk_group)
            if config.moe_latent_size:
                w.add_uint32(f"{w.arch}.moe_latent_size", config.moe_latent_size)
        return
    w.add_rope_freq_base(config.rope_parameters["rope_theta"])
    w.add_rope_dimension_count(head_dim)
    if architecture == ARCH.FALCON_H1:
        w.add_feed_forward_length(config.intermediate_size)
        return
    w.add_feed_forward_length(config.intermediate_size if config.num_local_experts else config.shared_intermediate_size)
    if config.num_local_experts:
        w.add_expert_count(config.num_local_experts)
        w.add_expert_used_count(config.num_experts_per_tok)
        w.add_expert_shared_feed_forward_length(config.shared_intermediate_size)
    w.add_attention_scale(config.attention_multiplier)
    w.add_embedding_scale(config.embedding_multiplier)
    w.add_residual_scale(config.residual_multiplier)
    w.add_logit_scale(config.logits_scaling)
    w.add_rope_scaling_finetuned(config.position_embedding_type == "rope")


def as_published(directory, name):
    """Edits a directory that transformers saved."""
    path = directory / "config.json"
    config = json.loads(path.read_text())
    if name == "qwen3_5":  # inside a model that sees images, with the period of its layers in place of their list
        del config["layer_types"]
        config["full_attention_interval"] = 2
        wrap_vision(directory)
        config = {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "text_config": config,
                  "vision_config": {"model_type": "qwen3_5_vision", "depth": 1}, "image_token_id": 7,
                  "tie_word_embeddings": config.pop("tie_word_embeddings")}
    elif name == "qwen3_5_moe":
        fuse_experts(directory)
        for key in ("rms_norm_eps", "hidden_act", "output_router_logits"):
            del config[key]
    elif name == "qwen2_5_vl":  # the first files: the text's keys beside vision_config, RoPE's old type
        text = {key: value for key, value in config.pop("text_config").items() if key not in ("model_type", "layer_types")}
        parameters = text.pop("rope_parameters")
        config |= text | {"rope_theta": parameters["rope_theta"], "vision_token_id": 7, "rope_scaling": {
            "type": "mrope", "mrope_section": parameters["mrope_section"]}}
    elif name == "qwen3_vl_moe":
        transpose_experts(directory)
    elif name in ("gemma4_dense", "gemma4_moe"):  # the heads of full attention by keys of their own, and RoPE left out
        heads = next(iter(config.pop("per_layer_config").values()))
        config |= {"global_head_dim": heads["head_dim"], "num_global_key_value_heads": heads["num_key_value_heads"]}
        del config["rope_parameters"]
    elif name == "gemma3n":  # inside a model that sees and hears, with RoPE's old spelling
        del config["rope_parameters"]
        config |= {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "rope_scaling": None, "altup_lr_multiplier": 1.0}
        wrap_parts(directory)
        config = {"architectures": ["Gemma3nForConditionalGeneration"], "model_type": "gemma3n", "text_config": config,
                  "vision_config": {"model_type": "gemma3n_vision"}, "audio_config": {"model_type": "gemma3n_audio"},
                  "tie_word_embeddings": config.pop("tie_word_embeddings")}
    elif name == "nemotron_h":  # old spelling, with Python's Infinity
        letters = {"linear_attention": "M", "full_attention": "*", "mlp": "-"}
        config["hybrid_override_pattern"] = "".join(letters[kind] for kind in config.pop("layers_block_type"))
        config["num_hidden_layers"] = len(config["hybrid_override_pattern"])
        config["time_step_limit"] = [0.0, float("inf")]
        for key in [key for key in config if key.startswith(("moe_", "n_routed", "mtp_", "n_shared", "routed", "norm_topk"))]:
            del config[key]
    elif name == "granite_hybrid":
        config["layer_types"] = ["mamba" if kind == "linear_attention" else "attention" for kind in config["layer_types"]]
        del config["time_step_limit"]
    elif name == "falcon_h1":
        for key in ("mamba_d_head", "mamba_rms_norm", "mamba_expand"):
            del config[key]
    else:
        return
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def wrap_vision(directory):
    path = directory / "model.safetensors"
    tensors = {key.replace("model.", "model.language_model.", 1) if key.startswith("model.") else key: value
               for key, value in load_file(path).items()}
    tensors["model.visual.patch_embed.proj.bias"] = torch.zeros(3)
    tensors["mtp.fc.weight"] = torch.zeros(2, 3)
    save_file(tensors, path)


def wrap_parts(directory):
    path = directory / "model.safetensors"
    tensors = {key.replace("model.", "model.language_model.", 1): value for key, value in load_file(path).items()}
    for name in ("vision_tower.timm_model.conv_stem.conv.weight", "embed_vision.embedding.weight",
                 "audio_tower.conformer.0.norm.weight", "embed_audio.embedding_projection.weight"):
        tensors[f"model.{name}"] = torch.zeros(2, 3)
    save_file(tensors, path)


def transpose_experts(directory):
    """[experts, inputs, outputs]."""
    path = directory / "model.safetensors"
    save_file({key: value.transpose(1, 2).contiguous() if ".experts." in key else value for key, value in load_file(path).items()},
              path)


def fuse_experts(directory):
    """One tensor for all experts, gate and up in one."""
    path = directory / "model.safetensors"
    tensors, experts = {}, {}
    for key, value in load_file(path).items():
        if ".experts." not in key:
            tensors[key] = value
            continue
        layer, _, rest = key.partition(".experts.")
        number, projection, _ = rest.split(".")
        experts.setdefault(layer, {}).setdefault(projection, {})[int(number)] = value
    for layer, of in experts.items():
        stack = {name: torch.stack([parts[i] for i in range(len(parts))]) for name, parts in of.items()}
        tensors[f"{layer}.experts.gate_up_proj"] = torch.cat([stack["gate_proj"], stack["up_proj"]], dim=1)
        tensors[f"{layer}.experts.down_proj"] = stack["down_proj"]
    save_file(tensors, path)
