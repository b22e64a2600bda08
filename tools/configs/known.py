#!/usr/bin/env python3
"""Makes tests/data/configs/: tiny models with unusual configurations that were once computed wrongly, with transformers'
results and the right verdict: equal, or refused.

usage: known.py [OUT_DIR] [--only NAME]...
Needs torch, transformers and gguf (PyPI). Seeded: the same versions write the same files.
"""
import argparse
import pathlib
import shutil

import torch
import transformers as hf

from models import base_configurations, make

SMALL = dict(vocab_size=41, hidden_size=16, intermediate_size=20, num_attention_heads=2, num_key_value_heads=1,
             num_hidden_layers=2)
TINY_MOE = dict(vocab_size=41, hidden_size=16, moe_intermediate_size=12, num_hidden_layers=2)


def yarn(**parameters):
    return dict(rope_parameters=dict(rope_type="yarn", rope_theta=300.0, factor=4.0, original_max_position_embeddings=32,
                                     **parameters))


def without(*keys):
    return lambda config: [config.pop(key) for key in keys]


def with_key(key, value):
    return lambda config: config.update({key: value})


def as_it_is(_):
    pass


def nomics_spelling(config):
    """config.json as nomic-ai publishes it."""
    own = dict(hidden_size="n_embd", num_hidden_layers="n_layer", num_attention_heads="n_head", intermediate_size="n_inner",
               max_position_embeddings="n_positions", layer_norm_eps="layer_norm_epsilon")
    for name, spelling in own.items():
        config[spelling] = config.pop(name)
    config["rotary_emb_base"] = config.pop("rope_parameters")["rope_theta"]
    for key in ("hidden_act", "head_dim"):
        config.pop(key, None)
    config.update(activation_function="swiglu", rotary_emb_fraction=1.0, rotary_emb_interleaved=False, causal=False,
                  prenorm=False, use_rms_norm=False, qkv_proj_bias=False, mlp_fc1_bias=False, mlp_fc2_bias=False)


WINDOWS = dict(rope_theta=10000.0, rope_type="default")
# name: (model type, parameters, the change of config.json before transformers reads it, the verdict)
KNOWN = {
    "gemma2_no_caps": ("gemma2", SMALL | dict(attn_logit_softcapping=None, final_logit_softcapping=None), as_it_is, "equal"),
    "gemma2_left_out": ("gemma2", SMALL | dict(query_pre_attn_scalar=256), without("query_pre_attn_scalar"), "equal"),
    "gemma3_left_out": ("gemma3_text", SMALL | dict(num_hidden_layers=6), without("rope_parameters", "layer_types"), "equal"),
    "gemma3_wide_windows": ("gemma3_text", SMALL | dict(num_hidden_layers=6, sliding_window=4096), as_it_is, "equal"),
    "olmo3_wide_windows": ("olmo3", SMALL | dict(head_dim=16, sliding_window=4096), as_it_is, "equal"),
    "gemma3_scaled_windows": ("gemma3_text", SMALL | dict(rope_parameters=dict(
        sliding_attention=WINDOWS | dict(rope_type="linear", factor=4.0), full_attention=WINDOWS)), as_it_is, "refused"),
    "gemma_both_sides": ("gemma", SMALL | dict(use_bidirectional_attention=True), as_it_is, "refused"),
    "gemma2_both_sides": ("gemma2", SMALL | dict(use_bidirectional_attention=True), as_it_is, "refused"),
    "qwen2_yarn_whole_ramp": ("qwen2", SMALL | dict(head_dim=16) | yarn(truncate=False), as_it_is, "equal"),
    "qwen2_yarn_zero_mscale": ("qwen2", SMALL | dict(head_dim=16) | yarn(mscale=0.0, mscale_all_dim=1.0), as_it_is, "equal"),
    "qwen2_window_layers": ("qwen2", SMALL | dict(use_sliding_window=True, sliding_window=6, max_window_layers=1),
                            without("layer_types"), "equal"),
    "qwen2_moe_window_layers": ("qwen2_moe", TINY_MOE | dict(
        use_sliding_window=True, sliding_window=6, max_window_layers=1), without("layer_types"), "equal"),
    "qwen3_moe_left_out": ("qwen3_moe", TINY_MOE | dict(norm_topk_prob=False), without("norm_topk_prob"), "equal"),
    "qwen2_moe_dense_layer": ("qwen2_moe", TINY_MOE | dict(mlp_only_layers=[0]), as_it_is, "equal"),
    "qwen3_moe_every_second": ("qwen3_moe", TINY_MOE | dict(decoder_sparse_step=2), as_it_is, "equal"),
    "qwen2_moe_no_bias": ("qwen2_moe", TINY_MOE | dict(qkv_bias=False), as_it_is, "equal"),
    "qwen3_next_dense_layer": ("qwen3_next", dict(mlp_only_layers=[1]), as_it_is, "equal"),
    "gpt2_unscaled": ("gpt2", dict(scale_attn_weights=False), as_it_is, "equal"),
    "gpt2_scaled_by_layer": ("gpt2", dict(scale_attn_by_inverse_layer_idx=True), as_it_is, "refused"),
    "smollm3_interval": ("smollm3", SMALL | dict(num_hidden_layers=4, no_rope_layer_interval=2), without("no_rope_layers"),
                         "refused"),
    "smollm3_windows": ("smollm3", SMALL | dict(num_hidden_layers=4, use_sliding_window=True, sliding_window=6),
                        without("layer_types", "no_rope_layers"), "equal"),
    "granite_left_out": ("granite", SMALL | dict(
        embedding_multiplier=1.0, residual_multiplier=1.0, attention_multiplier=1.0, logits_scaling=1.0),
        without("embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"), "equal"),
    "mixtral_left_out": ("mixtral", SMALL | dict(rms_norm_eps=1e-5), without("rope_parameters", "rms_norm_eps"), "equal"),
    "exaone4_without_rope": ("exaone4", SMALL | dict(layer_types=["full_attention"] * 2, sliding_window=9), as_it_is,
                             "equal"),
    "phi3_factor": ("phi3", SMALL | dict(head_dim=8, original_max_position_embeddings=16, rope_parameters=dict(
        rope_type="longrope", rope_theta=10000.0, factor=3.0, long_factor=[1.0, 2.0, 3.0, 4.0],
        short_factor=[1.0] * 4)), as_it_is, "equal"),
    "gpt_oss_truncate": ("gpt_oss", yarn(truncate=True), as_it_is, "equal"),
    "gpt_oss_left_out": ("gpt_oss", dict(rope_parameters=None), without("rope_parameters"), "equal"),
    "ernie4_5_moe_least_sum": ("ernie4_5_moe", dict(moe_norm_min=0.9), as_it_is, "refused"),
    "llama_with_window": ("llama", SMALL, with_key("sliding_window", 5), "refused"),
    "llama_misspelt": ("llama", SMALL, with_key("rms_norm_epz", 0.5), "refused"),
    "phi_tied": ("phi", dict(tie_word_embeddings=True), as_it_is, "refused"),
    "llama_head_of_its_own": ("llama", SMALL | dict(tie_word_embeddings=False), with_key("tie_word_embeddings", True),
                              "equal"),
}


def make_nomic(out):
    """transformers does not know the spelling, so it computes before the change."""
    name, parameters = "nomic_bert_spelling", dict(rope_parameters=dict(rope_type="default", rope_theta=300.0))
    make(out, name, "nomic_bert", base_configurations()["nomic_bert"] | parameters, as_it_is, "equal", after=nomics_spelling)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[2] / "tests" / "data" / "configs")
    parser.add_argument("--only", action="append")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    hf.utils.logging.set_verbosity_error()
    bases = base_configurations()
    for name, (model_type, parameters, change, expected) in KNOWN.items():
        if args.only and name not in args.only:
            continue
        shutil.rmtree(args.out / f"{name}-hf", ignore_errors=True)
        make(args.out, name, model_type, bases[model_type] | parameters, change, expected)
        print(name, flush=True)
    if not args.only:
        make_nomic(args.out)
        make(args.out, "gpt_oss_unquantised", "gpt_oss", bases["gpt_oss"], as_it_is, "refused", packed=False)


if __name__ == "__main__":
    main()
