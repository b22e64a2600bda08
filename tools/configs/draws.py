"""The settings that sweep.py changes, and the ways in which it rewrites config.json."""
import dataclasses

from models import TOKENS

TYPES = ["sliding_attention", "full_attention"]
SHAPES = {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
          "num_key_value_heads", "head_dim", "n_embd", "n_layer", "n_head", "n_inner", "n_positions", "dim", "hidden_dim",
          "n_layers", "n_heads", "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts",
          "moe_intermediate_size", "shared_expert_intermediate_size", "n_shared_experts", "moe_num_shared_experts",
          "moe_num_shared_experts", "num_kv_heads", "ffn_hidden_size", "max_position_embeddings", "type_vocab_size",
          "conv_L_cache", "layer_types", "first_k_dense_replace", "num_dense_layers", "moe_layer_start_index",
          "moe_layer_end_index", "moe_layer_interval", "mlp_only_layers", "decoder_sparse_step", "no_rope_layers",
          "relative_attention_num_buckets", "block_multiple_of", "block_ffn_dim_multiplier", "block_auto_adjust_ff_dim",
          "new_decoder_architecture", "multi_query", "bias", "use_bias", "attention_bias", "mlp_bias", "qkv_bias",
          "use_qkv_bias", "attention_out_bias", "norm_bias", "conv_bias", "use_qk_norm", "use_parallel_residual",
          "model_type", "architectures", "quantization_config", "full_attn_idxs", "num_ln_in_parallel_attn",
          "parallel_attn", "pad_token_id", "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
          "linear_value_head_dim", "linear_conv_kernel_dim", "rotary_dim", "use_expert_bias", "qk_layernorm",
          "intermediate_size_mlp", "interleave_moe_layer_step", "moe_layers", "lm_head_bias", "altup_num_inputs",
          "laurel_rank", "hidden_size_per_layer_input", "vocab_size_per_layer_input", "num_kv_shared_layers"}
FLAGS = ["attention_bias", "mlp_bias", "use_bias", "qkv_bias", "use_qkv_bias", "attention_out_bias", "norm_bias",
         "conv_bias", "bias", "tie_word_embeddings", "norm_topk_prob", "use_qk_norm", "qk_layernorm", "use_parallel_residual",
         "parallel_attn", "multi_query", "alibi", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
         "reorder_and_upcast_attn", "use_bidirectional_attention", "is_decoder", "sinusoidal_pos_embds", "attn_temperature_tuning", "lm_head_bias",
         "block_auto_adjust_ff_dim", "use_expert_bias", "add_cross_attention", "use_sliding_window", "classifier_bias"]
NUMBERS = {
    "rms_norm_eps": [1e-3, 0.1], "layer_norm_eps": [1e-3, 0.1], "norm_epsilon": [1e-3, 0.1], "norm_eps": [1e-3, 0.1],
    "layer_norm_epsilon": [1e-3, 0.1], "attn_logit_softcapping": [None, 3.0, 20.0],
    "final_logit_softcapping": [None, 2.0, 10.0], "query_pre_attn_scalar": [4, 30], "embedding_multiplier": [0.5, 4.0],
    "logits_scaling": [0.5, 3.0], "residual_multiplier": [0.3, 1.5], "attention_multiplier": [0.1, 0.7],
    "logit_scale": [0.2, 1.5], "routed_scaling_factor": [0.5, 2.5], "sliding_window": [None, 5, 17],
    "local_attention": [4, 20], "swiglu_limit": [3.0], "swiglu_alpha": [1.0], "clip_qkv": [0.5],
    "no_rope_layer_interval": [2, 3], "no_rope_layers": [[1, 0, 1, 1], [1, 1, 1, 1]], "max_window_layers": [0, 1],
    "mlp_only_layers": [[0], [1]], "decoder_sparse_step": [2], "moe_norm_min": [0.6], "sliding_window_pattern": [2, 3],
    "global_attn_every_n_layers": [2], "rotary_pct": [0.34, 1.0], "type_vocab_size": [3], "n_group": [1],
    "head_dim": [12, 20], "num_key_value_heads": [None], "moe_layer_interval": [1, 3], "num_ln_in_parallel_attn": [1, 2],
    "full_attention_interval": [2], "relative_attention_num_buckets": [16], "num_experts_per_tok": [1, 3],
    "attention_chunk_size": [None, 3, 11, 64], "floor_scale": [1, 9], "attn_scale": [0.0, 0.5],
    "router_jitter_noise": [0.0, 0.1, 2.0], "interleave_moe_layer_step": [1, 3], "altup_active_idx": [0, 2],
    "activation_sparsity_pattern": [None], "num_kv_shared_layers": [0, 1, 4]}
ACTIVATIONS = ["gelu", "relu", "gelu_new", "gelu_pytorch_tanh", "silu", "relu2"]
# Keys that a class takes although they are not fields of it.
BESIDE_FIELDS = {"gemma3_text": ["sliding_window_pattern"], "cohere2": ["sliding_window_pattern", "head_dim"],
                 "modernbert": ["global_attn_every_n_layers"], "gpt_neox": ["rotary_pct"], "qwen2": ["head_dim"],
                 "qwen3_next": ["full_attention_interval"], "granite": ["head_dim"], "phi3": ["head_dim"],
                 "starcoder2": ["head_dim"], "olmo2": ["head_dim"], "qwen3_moe": ["head_dim"],
                 "phimoe": ["head_dim"], "apertus": ["head_dim"]}
# Keys that other classes have: transformers takes them for attributes and does nothing with them.
STRAY = {"sliding_window": 7, "attn_logit_softcapping": 5.0, "logit_scale": 0.5, "use_qk_norm": True,
         "embedding_multiplier": 2.0, "hidden_sise": 64, "clip_qkv": 1.0, "attention_dropout": 0.5, "use_cache": False,
         "num_experts": 2, "mup_scale": 3.0, "_private": 1, "layer_types": ["full_attention"]}


@dataclasses.dataclass
class Drawn:
    parameters: dict
    what: list
    change: object
    context: int = 0


def rope_of(chance, config):
    """One of RoPE's scalings. Those that depend on the length are made to be the same for this test's length."""
    heads = config.get("num_attention_heads", 4)
    dims = config.get("head_dim") or config.get("hidden_size", 32) // heads
    kind = chance.choice(["linear", "yarn", "yarn", "llama3", "dynamic", "longrope", "default", "mrope"])
    rope = dict(rope_type=kind, rope_theta=chance.choice([10000.0, 300.0, 5e5]))
    context = 0
    if kind == "linear":
        rope |= dict(factor=chance.choice([1.5, 4.0]))
    elif kind == "llama3":
        rope |= dict(factor=4.0, low_freq_factor=1.0, high_freq_factor=chance.choice([2.0, 4.0]))
        if chance.random() < 0.5:
            rope |= dict(original_max_position_embeddings=16)
    elif kind == "yarn":
        rope |= dict(factor=4.0, truncate=chance.choice([True, False]), original_max_position_embeddings=32)
        rope |= chance.choice([{}, dict(attention_factor=0.7), dict(mscale=0.8, mscale_all_dim=0.5), dict(mscale=1.0),
                               dict(beta_fast=8.0, beta_slow=2.0), dict(mscale=0.0, mscale_all_dim=1.0)])
    elif kind == "dynamic":
        rope |= dict(factor=2.0)
        context = TOKENS
    elif kind == "longrope":
        share = config.get("partial_rotary_factor", 1.0)
        pairs = int(dims * share) // 2
        rope |= dict(long_factor=[1.0 + i / 3 for i in range(pairs)], short_factor=[1.0] * pairs,
                     original_max_position_embeddings=16)
        rope |= chance.choice([{}, dict(factor=3.0), dict(attention_factor=1.3)])
    elif kind == "default":
        rope |= chance.choice([{}, dict(partial_rotary_factor=0.5)])
    else:
        rope |= dict(rope_type="default", mrope_section=[1, 1, 1])
    return kind, rope, context


def draw(chance, model_type, base, described):
    """Parameters of a model and a rewriting of its config.json."""
    parameters, what, context = dict(base), [], 0
    fields = described["fields"]
    if "num_hidden_layers" in parameters and parameters["num_hidden_layers"] < 2:
        parameters["num_hidden_layers"] = 2
        if "layer_types" in parameters:
            parameters["layer_types"] = parameters["layer_types"][:1] * 2
    keys = [key for key in fields if key in FLAGS or key in NUMBERS]
    keys += [key for key in BESIDE_FIELDS.get(model_type, []) if chance.random() < 0.4]
    keys += ["hidden_act"] if chance.random() < 0.15 else []
    keys += ["rope"] * 3 if "rope" in described else []
    keys += ["layer_types"] * 2 if "layer_types" in fields else []
    for key in chance.sample(keys, min(len(keys), chance.randint(1, 3))):
        if key == "rope":
            kind, rope, context = rope_of(chance, parameters)
            if "full_attention" in described["rope"]:
                where = chance.choice(["full_attention", "full_attention", "sliding_attention"])
                both = {name: dict(rope_type="default", rope_theta=10000.0) for name in TYPES}
                rope = both | {where: rope}
                kind = f"{kind} in {where}"
            if context:
                parameters["max_position_embeddings"] = 20
            parameters["rope_parameters"] = rope
            what.append(f"RoPE {kind} {rope}")
        elif key == "layer_types":
            names = [t for t in ("conv", "linear_attention") if t in (parameters.get("layer_types") or [])] or TYPES[:1]
            count = parameters.get("num_hidden_layers", 2)
            parameters[key] = [chance.choice([names[0], "full_attention"]) for _ in range(count)]
            what.append(f"{key} {parameters[key]}")
        else:
            if key == "hidden_act":
                key = next((k for k in ("hidden_act", "hidden_activation", "activation_function", "activation")
                            if k in fields), "hidden_act")
                value = chance.choice(ACTIVATIONS)
            elif key in FLAGS:
                value = not (parameters[key] if key in parameters else fields[key])
            else:
                value = chance.choice(NUMBERS[key])
            if key in ("sliding_window_pattern", "no_rope_layer_interval", "max_window_layers",
                       "global_attn_every_n_layers", "full_attention_interval"):
                parameters.pop("layer_types", None)
                if key == "max_window_layers":
                    parameters |= dict(use_sliding_window=True, sliding_window=6)
            if key == "use_sliding_window":
                parameters["sliding_window"] = 6
            parameters[key] = value
            what.append(f"{key} {value}")
    rope = parameters.get("rope_parameters") or {}
    if rope.get("rope_type") == "longrope" and context == 0:  # as transformers chooses for this length
        original = parameters.get("original_max_position_embeddings", rope.get("original_max_position_embeddings", 0))
        context = original if original >= TOKENS else 0
    dropped, stray, old = [], {}, chance.random() < 0.3
    if chance.random() < 0.5:
        dropped = chance.sample(sorted(set(fields) - SHAPES), min(3, len(set(fields) - SHAPES)))
    if chance.random() < 0.12:
        name = chance.choice(sorted(STRAY))
        if name not in fields and name not in parameters:
            stray = {name: STRAY[name]}
    what += [f"without {key}" for key in dropped] + [f"stray {stray}"] * bool(stray) + ["old RoPE keys"] * old

    def change(config):
        for key in dropped:
            config.pop(key, None)
        config.update(stray)
        if old and "rope_parameters" in config:
            to_old_rope(config, model_type)

    return Drawn(parameters, what, change, context)


def to_old_rope(config, model_type):
    """rope_parameters as versions before 5 write it. OLMo 3 had none of its own for layers with a window."""
    rope = config.pop("rope_parameters")
    if "full_attention" in rope:
        if model_type == "olmo3" or rope["sliding_attention"].get("rope_type", "default") != "default":
            config["rope_parameters"] = rope
            return
        modern = model_type == "modernbert"
        config["local_rope_theta" if modern else "rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        if modern:
            if rope["full_attention"].get("rope_type", "default") == "default":
                config["global_rope_theta"] = rope["full_attention"]["rope_theta"]
            else:
                config["rope_parameters"] = rope
            return
        rope = rope["full_attention"]
    rope = dict(rope)
    theta, kind = rope.pop("rope_theta", None), rope.pop("rope_type", "default")
    share = rope.pop("partial_rotary_factor", None)
    if theta is not None:
        config["rope_theta"] = theta
    if share is not None:
        config["partial_rotary_factor"] = share
    config["rope_scaling"] = {"type": kind, **rope} if kind != "default" else None
