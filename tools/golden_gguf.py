"""Writes a transformers model as GGUF, by PyPI's `gguf` alone: its writer and its tables of tensor names.

The differences between GGUF and transformers' weights are implemented here a second time, on purpose, so that the
tests compare InferFlux with independent code.
"""
import copy

import gguf
import numpy as np
import torch

import golden_hybrids
import golden_latents

ARCH = gguf.MODEL_ARCH
# Families whose q and k have rotary pairs, which transformers keep half a head apart, as neighbours.
INTERLEAVED = {ARCH.LLAMA, ARCH.GRANITE, ARCH.SMOLLM3, ARCH.ARCEE, ARCH.MISTRAL3}
# Families whose norms store weight - 1 in transformers.
SHIFTED_NORMS = {ARCH.GEMMA, ARCH.GEMMA2, ARCH.GEMMA3, ARCH.QWEN3NEXT, *golden_hybrids.TILED}
# Families that store the queries of each KV head, its key and its value together.
GROUPED = {ARCH.FALCON, ARCH.GPTNEOX}
# Experts' matrices are stored inputs first.
EXPERT_COLUMNS = {ARCH.LLAMA4}
SIGMOID_EXPERTS = {ARCH.GLM4_MOE, ARCH.MINIMAXM2, ARCH.LFM2MOE}
# gpt-oss: its experts' columns alternate gate and up, and its matrices are stored inputs first.
ALTERNATING_EXPERTS = {ARCH.GPT_OSS}


def interleave(weight, heads):
    rows = weight.shape[0] // heads
    return weight.reshape(heads, 2, rows // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def kv_heads(config):
    if hasattr(config, "new_decoder_architecture"):
        return config.num_kv_heads if config.new_decoder_architecture else 1 if config.multi_query else config.num_attention_heads
    return getattr(config, "num_key_value_heads", None) or config.num_attention_heads


def ungroup(data, heads, groups):
    width = data.shape[0] // (heads + 2 * groups)
    apart = data.reshape(groups, heads // groups + 2, width, -1)
    parts = [apart[:, :-2], apart[:, -2], apart[:, -1]]
    return np.concatenate([part.reshape(-1, apart.shape[-1]) for part in parts]).reshape(data.shape)


def experts(architecture, name, data):
    """(name, data) of one stacked expert tensor, with gate and up separate."""
    is_bias = name.endswith("_bias")
    stem, kind = (name.removesuffix("_bias"), ".bias") if is_bias else (name, ".weight")
    if architecture in ALTERNATING_EXPERTS | EXPERT_COLUMNS and not is_bias:
        data = data.swapaxes(1, 2)
    if not stem.endswith("gate_up_proj"):
        return [(stem + kind, data)]
    if architecture in ALTERNATING_EXPERTS:
        gate, up = data[:, 0::2], data[:, 1::2]
    else:
        gate, up = np.split(data, 2, axis=1)
    return [(stem.replace("gate_up_proj", x) + kind, part) for x, part in (("gate_proj", gate), ("up_proj", up))]


def tensors(architecture, config, model):
    """(name, data) as in a GGUF file, but under transformers' names."""
    for name, tensor in model.state_dict().items():
        if any(part in f".{name}" for part in (".visual.", ".vision_tower.", ".vision_model.", ".multi_modal_projector.")):
            continue
        if ".act_fn." in name:  # numbers of the metadata
            continue
        if "altup_projections." in name or "altup_unembed_projections." in name:  # one stack
            stem = name.split("projections.")[0] + "projections"
            if name == f"{stem}.0.weight":
                count = sum(key.startswith(stem + ".") for key in model.state_dict())
                matrices = [model.state_dict()[f"{stem}.{i}.weight"].numpy() for i in range(count)]
                yield stem + ".weight", np.stack(matrices).astype(np.float32)
            continue
        name = name.replace("model.language_model.", "model.").removeprefix("language_model.")
        data = tensor.numpy().astype(np.float32)
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if architecture in INTERLEAVED and ".q_proj." in name:
            data = interleave(data, config.num_attention_heads)
        if architecture in INTERLEAVED and ".k_proj." in name:
            data = interleave(data, config.num_key_value_heads)
        if architecture in SHIFTED_NORMS and name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
            data = data + 1
        if architecture == ARCH.GPT2 and name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
            data = data.T
        if architecture in GROUPED and ".query_key_value." in name:
            data = ungroup(data, config.num_attention_heads, kv_heads(config))
        if name.endswith(("conv.conv.weight", "conv1d.weight")):
            data = data.squeeze(1)
        if architecture in golden_hybrids.TILED:
            data = golden_hybrids.tiled(name, data, config)
        if name.endswith(("e_score_correction_bias", "expert_bias")):
            layer = name.split(".layers.")[1].split(".")[0]
            yield f"blk.{layer}.exp_probs_b.bias", data.reshape(-1)
        elif name.endswith(("A_log", "dt_bias")):
            layer = name.split(".layers.")[1].split(".")[0]
            yield (f"blk.{layer}.ssm_a", -np.exp(data)) if name.endswith("A_log") else (f"blk.{layer}.ssm_dt.bias", data)
        elif name.endswith(("in_proj_b.weight", "in_proj_a.weight")):
            layer = name.split(".layers.")[1].split(".")[0]
            yield f"blk.{layer}.ssm_{'beta' if name.endswith('b.weight') else 'alpha'}.weight", data
        elif name.endswith("in_proj_qkvz.weight"):  # all of q, of k and of v; and z by itself
            layer = name.split(".layers.")[1].split(".")[0]
            heads, repeat = config.linear_num_key_heads, config.linear_num_value_heads // config.linear_num_key_heads
            width = np.cumsum([config.linear_key_head_dim] * 2 + [repeat * config.linear_value_head_dim])
            q, k, v, z = np.split(data.reshape(heads, -1, data.shape[1]), width, axis=1)
            flat = [part.reshape(-1, data.shape[1]) for part in (q, k, v)]
            yield f"blk.{layer}.attn_qkv.weight", np.concatenate(flat)
            yield f"blk.{layer}.attn_gate.weight", z.reshape(-1, data.shape[1])
        elif architecture == ARCH.GEMMA4 and ".router." in name and not name.endswith("proj.weight"):
            layer = name.split(".layers.")[1].split(".")[0]
            yield f"blk.{layer}.{'ffn_gate_inp' if name.endswith('router.scale') else 'ffn_down_exps'}.scale", data
        elif name.endswith("altup.correct_output_scale"):
            yield name + ".weight", data
        elif architecture == ARCH.GEMMA3N and "embed_tokens_per_layer" in name:
            yield name, np.concatenate([data, np.repeat(data[:1], config.vocab_size - len(data), axis=0)])
        elif architecture == ARCH.GEMMA4 and name.endswith("layer_scalar"):
            yield name + ".weight", data
        elif architecture == ARCH.GEMMA4 and ".experts." in name:  # gate and up stay one
            yield name + ".weight", data
        elif architecture == ARCH.PHIMOE and name.endswith("mlp.router.weight"):
            yield f"blk.{name.split('.layers.')[1].split('.')[0]}.ffn_gate_inp.weight", data
        elif ".experts." in name:
            yield from experts(architecture, name, data)
        elif name.endswith("sinks"):
            yield name + ".weight", data
        else:
            yield name, data


def gemma4_rope(w, config, head_dim):
    local, full = config.rope_parameters["sliding_attention"], config.rope_parameters["full_attention"]
    w.add_rope_freq_base(full["rope_theta"])
    w.add_rope_freq_base_swa(local["rope_theta"])
    w.add_rope_dimension_count(head_dim)
    w.add_rope_dimension_count_swa(config.head_dim)
    w.add_key_length_swa(config.head_dim)
    w.add_value_length_swa(config.head_dim)
    rotated = int(head_dim * full["partial_rotary_factor"]) // 2
    w.add_tensor("rope_freqs.weight", np.array([1.0] * rotated + [1e30] * (head_dim // 2 - rotated), np.float32))


def gemma4_metadata(w, config, model):
    full = [kind == "full_attention" for kind in config.layer_types]
    w.add_sliding_window_pattern([not each for each in full])
    w.add_head_count_kv([layer.self_attn.k_proj.weight.shape[0] // layer.self_attn.head_dim
                         if hasattr(layer.self_attn, "k_proj") else 1 for layer in model.model.layers])
    w.add_feed_forward_length([layer.mlp.gate_proj.weight.shape[0] for layer in model.model.layers])
    w.add_shared_kv_layers(config.num_kv_shared_layers)
    w.add_embedding_length_per_layer_input(config.hidden_size_per_layer_input)
    if config.enable_moe_block:
        w.add_expert_count(config.num_experts)
        w.add_expert_used_count(config.top_k_experts)


def gemma3n_metadata(w, config):
    w.add_feed_forward_length(config.intermediate_size)
    w.add_sliding_window_pattern([kind == "sliding_attention" for kind in config.layer_types])
    w.add_altup_active_idx(config.altup_active_idx)
    w.add_altup_num_inputs(config.altup_num_inputs)
    w.add_embedding_length_per_layer_input(config.hidden_size_per_layer_input)
    w.add_shared_kv_layers(config.num_kv_shared_layers)
    normal = torch.distributions.normal.Normal(0, 1)
    w.add_activation_sparsity_scale([float(normal.icdf(torch.tensor(share))) for share in config.activation_sparsity_pattern])


def apertus_metadata(w, model):
    for name, add in (("alpha_p", w.add_xielu_alpha_p), ("alpha_n", w.add_xielu_alpha_n), ("beta", w.add_xielu_beta),
                      ("eps", w.add_xielu_eps)):
        add([float(getattr(layer.mlp.act_fn, name)) for layer in model.model.layers])


def llama4_metadata(w, config):
    w.add_feed_forward_length(config.intermediate_size_mlp)
    all_rotate = all(config.no_rope_layers) and "chunked_attention" not in config.layer_types
    w.add_sliding_window(0 if all_rotate else config.attention_chunk_size)
    w.add_attn_temperature_scale(config.attn_scale if config.attn_temperature_tuning else 0.0)
    w.add_uint32(f"{w.arch}.attention.temperature_length", config.floor_scale)
    if not config.use_qk_norm:
        w.add_bool(f"{w.arch}.attention.qk_norm", False)
    if config.moe_layers:
        w.add_expert_feed_forward_length(config.intermediate_size)
        w.add_interleave_moe_layer_step(config.interleave_moe_layer_step)


def rope(w, config, model, head_dim):
    parameters = config.rope_parameters
    if w.arch == "gemma4":
        gemma4_rope(w, config, head_dim)
        return
    if "sliding_attention" in parameters:
        w.add_rope_freq_base_swa(parameters["sliding_attention"]["rope_theta"])
        parameters = parameters["full_attention"]
    rotated = int(head_dim * parameters.get("partial_rotary_factor", 1.0))
    w.add_rope_dimension_count(rotated)
    w.add_rope_freq_base(parameters["rope_theta"])
    kind = parameters["rope_type"]
    if kind == "linear":
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.add_rope_scaling_factor(parameters["factor"])
    elif kind == "dynamic" and "alpha" in parameters:  # the converter's writes the base that it stands for
        w.kv_data[0].pop(f"{w.arch}.rope.freq_base")
        w.add_rope_freq_base(parameters["rope_theta"] * parameters["alpha"] ** (head_dim / (head_dim - 2)))
    elif kind == "dynamic":
        w.add_float32(f"{w.arch}.rope.scaling.dynamic_factor", parameters["factor"])
    elif kind == "yarn":
        if "llama_4_scaling_beta" in parameters:
            w.add_attn_temperature_scale(parameters["llama_4_scaling_beta"])
            w.add_rope_scaling_yarn_log_mul(parameters["mscale_all_dim"])
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(parameters["factor"])
        w.add_rope_scaling_orig_ctx_len(parameters["original_max_position_embeddings"])
        for key, add in (("attention_factor", w.add_rope_scaling_yarn_attn_factor),
                         ("beta_fast", w.add_rope_scaling_yarn_beta_fast),
                         ("beta_slow", w.add_rope_scaling_yarn_beta_slow)):
            if parameters.get(key) is not None:
                add(parameters[key])
    elif kind == "longrope":
        original = parameters["original_max_position_embeddings"]
        w.add_rope_scaling_orig_ctx_len(original)
        w.add_rope_scaling_attn_factors(parameters.get("short_mscale") or np.sqrt(1 + np.log(config.max_position_embeddings / original) / np.log(original)))
        w.add_tensor("rope_factors_long.weight", np.array(parameters["long_factor"], np.float32))
        w.add_tensor("rope_factors_short.weight", np.array(parameters["short_factor"], np.float32))
    elif kind == "llama3":
        # The file holds the divisor of each plain frequency; transformers has the quotients.
        plain = 1.0 / parameters["rope_theta"] ** (np.arange(0, rotated, 2) / rotated)
        decoder = getattr(model, "language_model", model).model
        w.add_tensor("rope_freqs.weight", (plain / decoder.rotary_emb.inv_freq.numpy()).astype(np.float32))


def metadata(w, architecture, config, model):
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if architecture == ARCH.GEMMA4:
        head_dim = model.model.layers[-1].self_attn.head_dim  # of full attention
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    if architecture in (ARCH.LFM2, ARCH.LFM2MOE):
        w.add_feed_forward_length(model.model.layers[0].feed_forward.w1.weight.shape[0])
        w.add_shortconv_l_cache(config.conv_L_cache)
        w.add_layer_norm_rms_eps(config.norm_eps)
    elif architecture == ARCH.GEMMA4:
        gemma4_metadata(w, config, model)
    elif architecture == ARCH.LLAMA4:
        llama4_metadata(w, config)
    elif architecture == ARCH.GEMMA3N:
        gemma3n_metadata(w, config)
    else:
        w.add_feed_forward_length(getattr(config, "intermediate_size", None) or getattr(config, "n_inner", None)
                              or getattr(config, "ffn_hidden_size", None) or config.moe_intermediate_size)
    w.add_head_count(config.num_attention_heads)
    if architecture == ARCH.GEMMA4:
        rope(w, config, model, head_dim)
    elif architecture != ARCH.GPT2:
        recurrent = "conv" in (getattr(config, "layer_types", None) or [])
        w.add_head_count_kv([0 if kind == "conv" else config.num_key_value_heads for kind in config.layer_types]
                            if recurrent else kv_heads(config))
        rope(w, config, model, head_dim)
    if getattr(config, "head_dim", None) and architecture != ARCH.GRANITE:
        w.add_key_length(head_dim)
        w.add_value_length(head_dim)

    def add_if(key, add):
        if getattr(config, key, None) is not None:
            add(getattr(config, key))

    add_if("rms_norm_eps", w.add_layer_norm_rms_eps)
    add_if("norm_epsilon", w.add_layer_norm_eps)
    add_if("layer_norm_epsilon", w.add_layer_norm_eps)
    add_if("layer_norm_eps", w.add_layer_norm_eps)
    add_if("logit_scale", w.add_logit_scale)
    if architecture == ARCH.GPTNEOX:
        w.add_parallel_residual(config.use_parallel_residual)
    add_if("attn_logit_softcapping", w.add_attn_logit_softcapping)
    add_if("final_logit_softcapping", w.add_final_logit_softcapping)
    add_if("attention_multiplier", w.add_attention_scale)
    add_if("embedding_multiplier", w.add_embedding_scale)
    add_if("residual_multiplier", w.add_residual_scale)
    add_if("logits_scaling", w.add_logit_scale)
    if getattr(config, "use_sliding_window", True):
        add_if("sliding_window", w.add_sliding_window)
    if architecture in (ARCH.OLMO2, ARCH.EXAONE4) and getattr(config, "sliding_window", None):
        w.add_sliding_window_pattern([kind == "sliding_attention" for kind in config.layer_types])
    if architecture == ARCH.APERTUS:
        apertus_metadata(w, model)
    if architecture == ARCH.PHIMOE:
        w.add_float32(f"{w.arch}.router_jitter_noise", config.router_jitter_noise)
    # An alias in some configurations, so the first one present counts.
    for key in ("num_local_experts", "num_experts"):
        if getattr(config, key, None) and architecture != ARCH.GEMMA4:
            w.add_expert_count(getattr(config, key))
            w.add_expert_used_count(config.num_experts_per_tok)
            break
    if architecture in (ARCH.GPT_OSS, ARCH.HUNYUAN_MOE, ARCH.MINIMAXM2):
        w.add_expert_feed_forward_length(config.intermediate_size)
    if architecture in (ARCH.QWEN3NEXT, *golden_hybrids.TILED):
        w.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
        w.add_ssm_state_size(config.linear_key_head_dim)
        w.add_ssm_group_count(config.linear_num_key_heads)
        w.add_ssm_time_step_rank(config.linear_num_value_heads)
        w.add_ssm_inner_size(config.linear_num_value_heads * config.linear_value_head_dim)
        w.add_array(f"{w.arch}.attention.recurrent_layers", [kind == "linear_attention" for kind in config.layer_types])
    if architecture in (*golden_hybrids.TILED, ARCH.QWEN2VL, ARCH.QWEN3VL, ARCH.QWEN3VLMOE):
        w.add_rope_dimension_sections([*config.rope_parameters["mrope_section"], 0])
    if architecture in SIGMOID_EXPERTS:
        w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if architecture == ARCH.HUNYUAN_MOE:
        w.add_expert_shared_count(1)
        w.add_expert_shared_feed_forward_length(config.intermediate_size)
    for key, add in (("n_shared_experts", w.add_expert_shared_count), ("n_group", w.add_expert_group_count),
                     ("moe_num_shared_experts", w.add_expert_shared_count), ("topk_group", w.add_expert_group_used_count),
                     ("routed_scaling_factor", w.add_expert_weights_scale),
                     ("num_dense_layers", w.add_leading_dense_block_count),
                     ("first_k_dense_replace", w.add_leading_dense_block_count),
                     ("moe_layer_start_index", w.add_leading_dense_block_count),
                     ("moe_layer_interval", w.add_interleave_moe_layer_step)):
        add_if(key, add)
    add_if("norm_topk_prob", w.add_expert_weights_norm)
    add_if("moe_intermediate_size", w.add_expert_feed_forward_length)
    add_if("shared_expert_intermediate_size", w.add_expert_shared_feed_forward_length)


def write(path, architecture, config, model):
    config = copy.deepcopy(config)
    config.allow_global_per_layer_attribute_access = True
    w = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES.get(architecture, architecture))
    if architecture in golden_hybrids.STATE_SPACES:
        golden_hybrids.state_space_metadata(w, architecture, config)
        data_of = golden_hybrids.state_space_tensors(architecture, config, model)
    elif architecture in golden_latents.LATENTS:
        golden_latents.metadata(w, config)
        data_of = golden_latents.tensors(config, model)
    else:
        metadata(w, architecture, config, model)
        data_of = tensors(architecture, config, model)
    known = architecture if architecture in gguf.MODEL_ARCH_NAMES else ARCH.GLM_DSA  # gguf does not know deepseek32
    names = gguf.get_tensor_name_map(known, config.num_hidden_layers)
    for name, data in data_of:
        if architecture == ARCH.GRANITE_HYBRID and ".q_proj." in name:
            data = interleave(data, config.num_attention_heads)
        if architecture == ARCH.GRANITE_HYBRID and ".k_proj." in name:
            data = interleave(data, config.num_key_value_heads)
        stem, _, kind = name.rpartition(".")
        if name.endswith((".ssm_a", ".ssm_d", ".ffn_norm")) or (name.startswith("blk.") and name.endswith(".scale")):
            w.add_tensor(name, np.ascontiguousarray(data))
            continue
        mapped = stem if stem.startswith("blk.") else names.get_name(stem)
        if mapped is None:
            raise KeyError(f"{w.arch} has no GGUF name for {name}")
        if architecture == ARCH.GPT_OSS and "_exps" in mapped and kind == "weight":
            packed = gguf.quants.quantize(np.ascontiguousarray(data), gguf.GGMLQuantizationType.MXFP4)
            w.add_tensor(f"{mapped}.{kind}", packed, raw_dtype=gguf.GGMLQuantizationType.MXFP4)
        else:
            w.add_tensor(f"{mapped}.{kind}", np.ascontiguousarray(data))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
