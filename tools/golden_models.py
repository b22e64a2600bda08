#!/usr/bin/env python3
"""Makes tests/data/models/: for each family a tiny random model as GGUF, and the results of transformers.

usage: golden_models.py [OUT_DIR] [--family NAME]... [--all-directories]
Needs torch, transformers and gguf (PyPI). NAME.gguf holds the weights in float32; NAME.golden.gguf holds `tokens` (a
random prompt and the tokens that transformers decodes greedily after it), `prompt_length`, the `context` that the model is
configured for (0: its own), and `logits` of every position, in float32. Seeded: the same versions write the same files.
"""
import argparse
import json
import pathlib
import zlib

import gguf
import numpy as np
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

import golden_gguf
import golden_hybrids
import golden_latents
from golden_gguf import ARCH

PROMPT, DECODED, VOCAB = 24, 32, 96
SHAPE = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=False, attn_implementation="eager",
             bos_token_id=1, eos_token_id=2, pad_token_id=0)
ONE_LAYER = {**SHAPE, "num_hidden_layers": 1}
TIED = {**SHAPE, "tie_word_embeddings": True}
WINDOW = ["sliding_attention", "full_attention"]


def rope(kind, **parameters):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=10000.0, **parameters))


def sections(share):
    """RoPE with places in images, which text has only one of."""
    return rope("default", partial_rotary_factor=share, mrope_section=[1, 1, 1])


def without(parameters, *names):
    return {key: value for key, value in parameters.items() if key not in names}


LONG_FACTORS = dict(long_factor=[2.0 + i for i in range(3)], short_factor=[1.0 + i / 8 for i in range(3)],
                    partial_rotary_factor=0.75)
MOE = dict(num_experts_per_tok=2)
# Sizes that only a reader of each key gets right: heads that do not divide the width, an odd vocabulary.
ODD = {**SHAPE, **dict(vocab_size=41, hidden_size=18, intermediate_size=20, num_attention_heads=3, num_key_value_heads=1)}

# name: (GGUF architecture, transformers' configuration, the context that the model is configured for)
FAMILIES = {
    "llama": (ARCH.LLAMA, hf.LlamaConfig, SHAPE | dict(intermediate_size=64)),
    "llama3": (ARCH.LLAMA, hf.LlamaConfig, TIED | dict(head_dim=16) | rope(
        "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)),
    "llama_linear": (ARCH.LLAMA, hf.LlamaConfig, ONE_LAYER | rope("linear", factor=4.0)),
    # Longer than the training context: transformers computes the base from the sequence's length, here the context.
    "llama_dynamic": (ARCH.LLAMA, hf.LlamaConfig,
                      ONE_LAYER | dict(max_position_embeddings=20) | rope("dynamic", factor=2.0), PROMPT + DECODED),
    "mistral": (ARCH.LLAMA, hf.MistralConfig, SHAPE | dict(head_dim=8, sliding_window=16)),
    "mixtral": (ARCH.LLAMA, hf.MixtralConfig, SHAPE | MOE | dict(num_local_experts=4)),
    "qwen2": (ARCH.QWEN2, hf.Qwen2Config, SHAPE),
    "qwen2_yarn": (ARCH.QWEN2, hf.Qwen2Config, ONE_LAYER | dict(head_dim=16) | rope(
        "yarn", factor=4.0, original_max_position_embeddings=32)),
    "qwen3": (ARCH.QWEN3, hf.Qwen3Config, SHAPE | dict(head_dim=16)),
    "qwen2_moe": (ARCH.QWEN2MOE, hf.Qwen2MoeConfig, SHAPE | MOE | dict(
        num_experts=4, moe_intermediate_size=24, shared_expert_intermediate_size=40)),
    "qwen3_moe": (ARCH.QWEN3MOE, hf.Qwen3MoeConfig, SHAPE | MOE | dict(
        num_experts=4, moe_intermediate_size=24, head_dim=16, norm_topk_prob=True)),
    # Twice, on either side of LongRoPE's switch.
    "phi3": (ARCH.PHI3, hf.Phi3Config, SHAPE | dict(
        max_position_embeddings=256, original_max_position_embeddings=64, sliding_window=20) | rope(
            "longrope", **LONG_FACTORS), 64),
    "phi3_long": (ARCH.PHI3, hf.Phi3Config, ONE_LAYER | dict(
        max_position_embeddings=256, original_max_position_embeddings=16) | rope("longrope", **LONG_FACTORS)),
    "gemma2": (ARCH.GEMMA2, hf.Gemma2Config, TIED | dict(
        head_dim=16, query_pre_attn_scalar=16, sliding_window=16, attn_logit_softcapping=5.0,
        final_logit_softcapping=3.0)),
    "gemma3": (ARCH.GEMMA3, hf.Gemma3TextConfig, TIED | dict(
        num_hidden_layers=6, head_dim=8, query_pre_attn_scalar=8, sliding_window=16)),
    "granite": (ARCH.GRANITE, hf.GraniteConfig, TIED | dict(
        embedding_multiplier=3.0, residual_multiplier=0.6, attention_multiplier=0.25, logits_scaling=2.0)),
    "olmo2": (ARCH.OLMO2, hf.Olmo2Config, SHAPE),
    "olmo3": (ARCH.OLMO2, hf.Olmo3Config, SHAPE | dict(sliding_window=16, layer_types=WINDOW) | dict(
        rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=10000.0),
                             full_attention=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0,
                                                 original_max_position_embeddings=32)))),
    "smollm3": (ARCH.SMOLLM3, hf.SmolLM3Config, TIED | dict(num_hidden_layers=4)),
    "starcoder2": (ARCH.STARCODER2, hf.Starcoder2Config, TIED | dict(sliding_window=16)),
    "gpt2": (ARCH.GPT2, hf.GPT2Config, dict(
        vocab_size=VOCAB, n_embd=32, n_inner=32, n_layer=2, n_head=4, n_positions=64,
        bos_token_id=1, eos_token_id=2, attn_implementation="eager")),
    "gpt_oss": (ARCH.GPT_OSS, hf.GptOssConfig, SHAPE | MOE | dict(
        num_local_experts=4, head_dim=16, sliding_window=16) | rope(
            "yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=32)),
}
ODD_MOE = ODD | MOE | dict(hidden_size=24)  # the products of experts take rows of whole 16 bytes only
# time_step_min: transformers bounds the steps of a prompt by it from below, but not those of a decode. NVIDIA's code and
# others have no bound.
NEMOTRON = dict(head_dim=10, mamba_num_heads=6, mamba_head_dim=5, n_groups=3, ssm_state_size=7, conv_kernel=3,
                time_step_min=1e-30)
MAMBA = dict(mamba_d_state=7, mamba_d_conv=3)
MULTIPLIED = dict(embedding_multiplier=3.0, residual_multiplier=0.6, attention_multiplier=0.25, logits_scaling=2.0)
HEADS_ALONE = {key: value for key, value in ODD.items() if key != "num_key_value_heads"}
LATENTS = ODD_MOE | dict(num_key_value_heads=3, q_lora_rank=16, kv_lora_rank=20, qk_rope_head_dim=6, qk_nope_head_dim=10,
                         v_head_dim=7, n_routed_experts=6, moe_intermediate_size=12, first_k_dense_replace=1)
INDEXED = dict(num_hidden_layers=2, index_topk=7, index_n_heads=9, index_head_dim=14)
# The same, each also as a directory.
IN_BOTH_FORMS = {
    "glm4": (ARCH.GLM4, hf.Glm4Config, ODD | dict(head_dim=20, partial_rotary_factor=0.4)),
    "glm4_moe": (ARCH.GLM4_MOE, hf.Glm4MoeConfig, ODD_MOE | dict(
        num_hidden_layers=3, head_dim=12, n_routed_experts=6, moe_intermediate_size=12, n_shared_experts=2, n_group=3,
        topk_group=2, routed_scaling_factor=1.7, use_qk_norm=True, attention_bias=True)),
    "cohere": (ARCH.COMMAND_R, hf.CohereConfig, ODD | dict(tie_word_embeddings=True, logit_scale=0.3)),
    "cohere2": (ARCH.COHERE2, hf.Cohere2Config, ODD | dict(
        tie_word_embeddings=True, logit_scale=0.3, num_hidden_layers=5, sliding_window=9)),
    "exaone4": (ARCH.EXAONE4, hf.Exaone4Config, ODD | dict(
        head_dim=12, num_hidden_layers=1, sliding_window=None, layer_types=["full_attention"]) | rope(
        "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)),
    "exaone4_windows": (ARCH.EXAONE4, hf.Exaone4Config, ODD | dict(
        num_hidden_layers=5, sliding_window=9, sliding_window_pattern=4)),
    "seed_oss": (ARCH.SEED_OSS, hf.SeedOssConfig, ODD | dict(head_dim=20, attention_out_bias=True)),
    "olmoe": (ARCH.OLMOE, hf.OlmoeConfig, ODD_MOE | dict(num_experts=5, num_experts_per_tok=3)),
    "gemma": (ARCH.GEMMA, hf.GemmaConfig, ODD | dict(tie_word_embeddings=True, head_dim=20)),
    "stablelm": (ARCH.STABLELM, hf.StableLmConfig, ODD | dict(use_qkv_bias=True, partial_rotary_factor=0.7)),
    "stablelm_parallel": (ARCH.STABLELM, hf.StableLmConfig, ODD | dict(
        num_hidden_layers=1, use_parallel_residual=True, partial_rotary_factor=0.4)),
    "phi": (ARCH.PHI2, hf.PhiConfig, ODD | dict(partial_rotary_factor=0.4)),
    "ernie4_5": (ARCH.ERNIE4_5, hf.Ernie4_5Config, ODD | dict(tie_word_embeddings=True, head_dim=20, use_bias=True)),
    "ernie4_5_moe": (ARCH.ERNIE4_5_MOE, hf.Ernie4_5_MoeConfig, ODD | dict(hidden_size=24) | dict(
        num_hidden_layers=4, moe_num_experts=5, moe_k=2, moe_intermediate_size=12, moe_num_shared_experts=3,
        moe_layer_interval=2, moe_layer_start_index=1)),
    "hunyuan_dense": (ARCH.HUNYUAN_DENSE, hf.HunYuanDenseV1Config, ODD | dict(head_dim=20) | rope(
        "dynamic", alpha=50.0, factor=1.0)),
    "hunyuan_moe": (ARCH.HUNYUAN_MOE, hf.HunYuanMoEV1Config, ODD | dict(hidden_size=24) | dict(
        head_dim=12, num_experts=3, moe_topk=2, attention_bias=True)),
    "arcee": (ARCH.ARCEE, hf.ArceeConfig, ODD | dict(head_dim=20, mlp_bias=True)),
    "falcon": (ARCH.FALCON, hf.FalconConfig, dict(
        vocab_size=41, hidden_size=18, num_hidden_layers=2, num_attention_heads=3, bos_token_id=1, eos_token_id=2)),
    "falcon_grouped": (ARCH.FALCON, hf.FalconConfig, dict(
        vocab_size=41, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, num_kv_heads=2, bias=True,
        ffn_hidden_size=28, new_decoder_architecture=True, bos_token_id=1, eos_token_id=2)),
    "gpt_neox": (ARCH.GPTNEOX, hf.GPTNeoXConfig, HEADS_ALONE | dict(rotary_pct=0.7)),
    "gpt_neox_sequential": (ARCH.GPTNEOX, hf.GPTNeoXConfig, HEADS_ALONE | dict(
        num_hidden_layers=1, use_parallel_residual=False, attention_bias=False, rotary_pct=0.4)),
    "minimax_m2": (ARCH.MINIMAXM2, hf.MiniMaxM2Config, ODD_MOE | dict(
        num_local_experts=5, head_dim=20, rotary_dim=8)),
    "lfm2": (ARCH.LFM2, hf.Lfm2Config, ODD | dict(
        tie_word_embeddings=True, head_dim=20, num_hidden_layers=5, conv_L_cache=4, conv_bias=True, block_multiple_of=5,
        block_ffn_dim_multiplier=1.3, layer_types=["conv", "full_attention", "conv", "full_attention", "conv"])),
    "qwen3_next": (ARCH.QWEN3NEXT, hf.Qwen3NextConfig, ODD_MOE | dict(
        num_hidden_layers=4, head_dim=12, partial_rotary_factor=0.5, num_experts=3, moe_intermediate_size=12,
        shared_expert_intermediate_size=12, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6,
        linear_value_head_dim=6, linear_conv_kernel_dim=3,
        layer_types=["linear_attention", "full_attention", "linear_attention", "linear_attention"])),
    "lfm2_moe": (ARCH.LFM2MOE, hf.Lfm2MoeConfig, ODD_MOE | dict(
        tie_word_embeddings=True, num_hidden_layers=4, moe_intermediate_size=12, num_dense_layers=1, num_experts=3,
        layer_types=["conv", "conv", "full_attention", "conv"])),
    # Keys and values of different widths, three value heads for each key head.
    "qwen3_5": (ARCH.QWEN35, hf.Qwen3_5TextConfig, ODD | dict(
        num_hidden_layers=3, full_attention_interval=2, head_dim=12, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=6,
        linear_value_head_dim=5, linear_conv_kernel_dim=3) | sections(0.5)),
    "qwen3_5_moe": (ARCH.QWEN35MOE, hf.Qwen3_5MoeTextConfig, without(ODD_MOE, "intermediate_size") | dict(
        head_dim=12, num_experts=3, moe_intermediate_size=12, shared_expert_intermediate_size=12, linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=6, linear_conv_kernel_dim=3,
        layer_types=["linear_attention", "full_attention"]) | sections(0.5)),
    "mamba2": (ARCH.MAMBA2, hf.Mamba2Config, dict(
        vocab_size=41, hidden_size=15, expand=2, num_heads=6, head_dim=5, n_groups=3, state_size=7, conv_kernel=3,
        num_hidden_layers=1, bos_token_id=1, eos_token_id=2, tie_word_embeddings=True)),
    "nemotron_h": (ARCH.NEMOTRON_H, hf.NemotronHConfig, without(ODD, "num_hidden_layers") | NEMOTRON | dict(
        layers_block_type=["linear_attention", "mlp", "full_attention", "linear_attention", "mlp"])),
    "nemotron_h_moe": (ARCH.NEMOTRON_H_MOE, hf.NemotronHConfig, without(ODD, "num_hidden_layers") | NEMOTRON | dict(
        hidden_size=24, layers_block_type=["moe", "linear_attention", "full_attention", "moe"], n_routed_experts=6,
        n_group=3, topk_group=2, moe_intermediate_size=12, moe_shared_expert_intermediate_size=10,
        routed_scaling_factor=1.7, moe_latent_size=16)),
    "granite_hybrid": (ARCH.GRANITE_HYBRID, hf.GraniteMoeHybridConfig, ODD | MULTIPLIED | MAMBA | dict(
        hidden_size=18, mamba_n_heads=6, mamba_n_groups=3, num_hidden_layers=3, num_local_experts=0,
        shared_intermediate_size=20, position_embedding_type="rope",
        layer_types=["linear_attention", "full_attention", "linear_attention"])),
    "granite_hybrid_moe": (ARCH.GRANITE_HYBRID, hf.GraniteMoeHybridConfig, ODD | MULTIPLIED | MAMBA | dict(
        hidden_size=24, mamba_n_heads=8, mamba_n_groups=1, num_local_experts=5, num_experts_per_tok=3,
        intermediate_size=12, shared_intermediate_size=10, layer_types=["linear_attention", "full_attention"])),
    # Ranks, rotated and unrotated parts, and values of different widths.
    "deepseek_v2": (ARCH.DEEPSEEK2, hf.DeepseekV2Config, LATENTS | dict(
        num_hidden_layers=3, n_group=3, topk_group=2, topk_method="group_limited_greedy", routed_scaling_factor=1.7,
        n_shared_experts=2) | rope("yarn", factor=4.0, mscale=0.7, mscale_all_dim=0.9, beta_fast=16.0,
                                   original_max_position_embeddings=32)),
    "deepseek_v2_lite": (ARCH.DEEPSEEK2, hf.DeepseekV2Config, LATENTS | dict(
        num_hidden_layers=1, q_lora_rank=None, n_shared_experts=1, first_k_dense_replace=0, attention_bias=True)),
    "deepseek_v3": (ARCH.DEEPSEEK2, hf.DeepseekV3Config, LATENTS | dict(
        num_hidden_layers=5, n_group=3, topk_group=2, first_k_dense_replace=2, routed_scaling_factor=1.3) | rope(
            "yarn", factor=8.0, mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=16)),
    "kimi_k2": (ARCH.DEEPSEEK2, hf.DeepseekV3Config, LATENTS | dict(  # one layer, all of it a mixture
        num_hidden_layers=1, first_k_dense_replace=0, n_group=1, topk_group=1, rope_interleave=True) | rope(
            "yarn", factor=32.0, beta_fast=1.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
            original_max_position_embeddings=4)),
    "glm4_moe_lite": (ARCH.DEEPSEEK2, hf.Glm4MoeLiteConfig, without(LATENTS, "first_k_dense_replace") | dict(
        num_hidden_layers=3, norm_topk_prob=False, tie_word_embeddings=True)),
    # Far fewer selected tokens than there are, from more heads than attention has.
    "deepseek_v32": ("deepseek32", hf.DeepseekV32Config, LATENTS | INDEXED | dict(n_group=2, topk_group=1)),
    "glm_moe_dsa": (ARCH.GLM_DSA, hf.GlmMoeDsaConfig, LATENTS | INDEXED | dict(
        num_hidden_layers=5, indexer_types=["full", "full", "shared", "full", "shared"])),
    "falcon_h1": (ARCH.FALCON_H1, hf.FalconH1Config, ODD | MAMBA | dict(
        hidden_size=24, head_dim=10, mamba_d_ssm=30, mamba_n_heads=6, mamba_n_groups=3, tie_word_embeddings=True,
        ssm_multipliers=[0.7, 1.2, 0.9, 1.1, 0.8], mlp_multipliers=[0.9, 1.3], key_multiplier=0.7,
        attention_in_multiplier=1.2, attention_out_multiplier=0.8, ssm_in_multiplier=1.1, ssm_out_multiplier=0.9,
        embedding_multiplier=1.7, lm_head_multiplier=0.6)),
}
# The text of models that also see images, inside a checkpoint with both.
TINY_VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)
QWEN_VISION = dict(depth=1, num_heads=1, hidden_size=8, intermediate_size=8, patch_size=2, out_hidden_size=18)


def beside(vision, text, **outer):
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=text["tie_word_embeddings"], **outer)


def tokens_of_images(*names):
    return {name: 3 + i for i, name in enumerate(names)}


QWEN_TOKENS = tokens_of_images("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
GLM_TOKENS = tokens_of_images("image_token_id", "video_token_id", "image_start_token_id", "image_end_token_id",
                              "video_start_token_id", "video_end_token_id")
G4 = without(ODD, "tie_word_embeddings") | dict(
    tie_word_embeddings=True, head_dim=10, global_head_dim=16, sliding_window=9, final_logit_softcapping=3.0,
    hidden_size_per_layer_input=0)
YARN_GROWING = rope("yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                    original_max_position_embeddings=8, llama_4_scaling_beta=0.3)
IN_BOTH_FORMS |= {
    # Shared keys and values, per-layer embeddings, and networks of two widths, as the small models have them.
    "gemma4": (ARCH.GEMMA4, hf.Gemma4TextConfig, G4 | dict(
        num_hidden_layers=5, num_kv_shared_layers=2, hidden_size_per_layer_input=6, vocab_size_per_layer_input=41,
        use_double_wide_mlp=True, layer_types=["sliding_attention", "full_attention"] * 2 + ["full_attention"])),
    # Values that are keys, and fewer of them, as the large one has them.
    "gemma4_dense": (ARCH.GEMMA4, hf.Gemma4TextConfig, G4 | dict(
        num_hidden_layers=1, num_attention_heads=6, num_key_value_heads=3, attention_k_eq_v=True, num_global_key_value_heads=2)),
    "gemma4_moe": (ARCH.GEMMA4, hf.Gemma4TextConfig, G4 | dict(
        hidden_size=24, enable_moe_block=True, num_experts=5, top_k_experts=3, moe_intermediate_size=12,
        num_key_value_heads=3, attention_k_eq_v=True, num_global_key_value_heads=1)),
    "ministral3": (ARCH.MISTRAL3, hf.Ministral3Config, ODD | dict(head_dim=20) | YARN_GROWING),
    "gemma3_vision": (ARCH.GEMMA3, hf.Gemma3Config, beside(
        TINY_VISION | dict(image_size=4, patch_size=2, model_type="siglip_vision_model"),
        ODD | dict(tie_word_embeddings=True, num_hidden_layers=5, head_dim=10, query_pre_attn_scalar=10, sliding_window=9),
        mm_tokens_per_image=4, image_token_index=3, boi_token_index=4, eoi_token_index=5)),
    "mistral3": (ARCH.LLAMA, hf.Mistral3Config, beside(
        TINY_VISION | dict(image_size=4, patch_size=2, head_dim=8, model_type="pixtral"),
        ODD | dict(model_type="mistral", head_dim=20, sliding_window=None), image_token_index=3)),
    "qwen2_5_vl": (ARCH.QWEN2VL, hf.Qwen2_5_VLConfig, beside(
        QWEN_VISION | dict(fullatt_block_indexes=[0]), ODD | sections(1.0), **QWEN_TOKENS)),
    "qwen3_vl": (ARCH.QWEN3VL, hf.Qwen3VLConfig, beside(
        QWEN_VISION | dict(num_position_embeddings=4, deepstack_visual_indexes=[0]),
        ODD | dict(tie_word_embeddings=True, num_hidden_layers=1, head_dim=10) | sections(1.0), **QWEN_TOKENS)),
    "qwen3_vl_moe": (ARCH.QWEN3VLMOE, hf.Qwen3VLMoeConfig, beside(
        QWEN_VISION | dict(num_position_embeddings=4, deepstack_visual_indexes=[0], out_hidden_size=24),
        ODD_MOE | dict(num_experts=5, num_experts_per_tok=3, moe_intermediate_size=20, head_dim=10) | sections(1.0),
        **QWEN_TOKENS)),
    "glm4v": (ARCH.GLM4, hf.Glm4vConfig, beside(
        QWEN_VISION | dict(image_size=4, out_hidden_size=24), ODD | dict(hidden_size=36) | sections(0.5), **GLM_TOKENS)),
    "glm4v_moe": (ARCH.GLM4_MOE, hf.Glm4vMoeConfig, beside(
        QWEN_VISION | dict(image_size=4, out_hidden_size=24), ODD_MOE | dict(
            num_hidden_layers=3, head_dim=12, n_routed_experts=6, moe_intermediate_size=12, n_group=3, topk_group=2,
            routed_scaling_factor=1.7) | sections(0.5), **GLM_TOKENS)),
}
G3N = without(ODD, "tie_word_embeddings") | dict(
    tie_word_embeddings=True, head_dim=10, sliding_window=9, final_logit_softcapping=3.0, hidden_size_per_layer_input=6)
LLAMA4 = ODD_MOE | dict(num_hidden_layers=5, head_dim=10, intermediate_size=12, intermediate_size_mlp=20,
                        num_local_experts=5, num_experts_per_tok=1, interleave_moe_layer_step=2)
LLAMA3_FACTORS = rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
IN_BOTH_FORMS |= {
    "apertus": (ARCH.APERTUS, hf.ApertusConfig, ODD | dict(num_hidden_layers=3, attention_bias=True) | LLAMA3_FACTORS),
    "apertus_unscaled": (ARCH.APERTUS, hf.ApertusConfig, ODD | dict(
        num_hidden_layers=1, head_dim=20) | rope("default")),
    # Shared keys and values, more tokens than per-layer embeddings, networks of several widths of which some cut their gates.
    "gemma3n": (ARCH.GEMMA3N, hf.Gemma3nTextConfig, G3N | dict(
        num_hidden_layers=5, num_kv_shared_layers=2, vocab_size_per_layer_input=37, intermediate_size=[20, 24, 20, 16, 20],
        altup_num_inputs=3, altup_active_idx=1, laurel_rank=5, activation_sparsity_pattern=[0.7, 0.0, 0.4, 0.0, 0.9],
        layer_types=["sliding_attention", "full_attention"] * 2 + ["full_attention"])),
    # What llama.cpp takes for granted: four streams, LAuReL's rank, the width of per-layer embeddings, sparse first layers
    # (whose deviation it divides by one value less), and the cap.
    "gemma3n_usual": (ARCH.GEMMA3N, hf.Gemma3nTextConfig, G3N | dict(
        num_hidden_layers=1, num_kv_shared_layers=0, vocab_size_per_layer_input=41, hidden_size_per_layer_input=256,
        laurel_rank=64, activation_sparsity_pattern=[0.95], final_logit_softcapping=30.0, intermediate_size=512)),
    # A jitter that lets several experts share a weight.
    "phimoe": (ARCH.PHIMOE, hf.PhimoeConfig, ODD_MOE | dict(
        num_hidden_layers=3, num_local_experts=5, router_jitter_noise=0.3, attention_bias=True, lm_head_bias=True,
        sliding_window=19) | rope("longrope", long_factor=[2.0, 3.0, 4.0, 5.0], short_factor=[1.0, 1.1, 1.3, 1.6],
                                  short_mscale=1.2, long_mscale=1.2, original_max_position_embeddings=64), 64),
    "phimoe_long": (ARCH.PHIMOE, hf.PhimoeConfig, ODD_MOE | dict(
        num_hidden_layers=1, num_local_experts=3) | rope(
            "longrope", long_factor=[2.0, 3.0, 4.0, 5.0], short_factor=[1.0, 1.1, 1.3, 1.6], short_mscale=1.3,
            long_mscale=1.3, original_max_position_embeddings=16)),
    # Chunks and growth that a short text shows; low and high factors are equal, as Llama 4 Scout has them.
    "llama4_chunks": (ARCH.LLAMA4, hf.Llama4TextConfig, LLAMA4 | dict(
        attention_chunk_size=7, floor_scale=6, attn_scale=0.3, attention_bias=True) | rope(
            "llama3", factor=16.0, low_freq_factor=1.0, high_freq_factor=1.0, original_max_position_embeddings=32)),
    # As MobileLLM-R1: neither experts nor chunks, all layers rotate.
    "llama4_dense": (ARCH.LLAMA4, hf.Llama4TextConfig, LLAMA4 | dict(
        num_hidden_layers=1, tie_word_embeddings=True, moe_layers=[], num_local_experts=0, no_rope_layers=[1],
        layer_types=["full_attention"], use_qk_norm=False, attn_temperature_tuning=False)),
    "llama4": (ARCH.LLAMA4, hf.Llama4Config, beside(
        TINY_VISION | dict(image_size=4, patch_size=2, vision_output_dim=8, projector_input_dim=8, projector_output_dim=8),
        LLAMA4 | dict(interleave_moe_layer_step=1) | LLAMA3_FACTORS, image_token_index=3, boi_token_index=4,
        eoi_token_index=5)),
}
FAMILIES |= IN_BOTH_FORMS


# Also saved as Hugging Face directories, NAME-hf: one for each thing that a checkpoint holds otherwise than a GGUF file.
DIRECTORIES = ("llama3", "qwen2_moe", "phi3_long", "olmo3", "gpt2", "gpt_oss", *IN_BOTH_FORMS)


def randomise(model, architecture):
    """Far from transformers' default initialisation, so that norms, biases and scores matter too."""
    for name, parameter in model.named_parameters():
        columns = architecture in golden_gguf.ALTERNATING_EXPERTS | golden_gguf.EXPERT_COLUMNS and "experts" in name
        fan_in = parameter.shape[-2] if columns else parameter.shape[-1]
        if parameter.ndim == 1 or name.endswith("_bias"):
            parameter.add_(torch.randn_like(parameter) * 0.3)
        else:
            parameter.copy_(torch.randn_like(parameter) * (1.5 / fan_in ** 0.5))
        if architecture == ARCH.GPT_OSS and name.endswith(("gate_up_proj", "down_proj")):
            parameter.copy_(as_mxfp4(parameter))
    for name, biases in model.named_buffers():
        if name.endswith(("e_score_correction_bias", "expert_bias")):
            biases.copy_(torch.randn_like(biases) * 0.3)
        elif name.endswith("layer_scalar"):
            biases.copy_(0.5 + torch.rand_like(biases))
        elif name.endswith("act_fn.beta"):
            biases.add_(torch.randn_like(biases) * 0.1)
    if model.config.tie_word_embeddings:  # or every token would predict itself
        model.get_input_embeddings().weight.mul_(0.2)


def as_mxfp4(weight):
    """The weight's values after MXFP4; blocks run along the inputs."""
    rows = np.ascontiguousarray(weight.swapaxes(-1, -2).numpy())
    kind = gguf.GGMLQuantizationType.MXFP4
    return torch.from_numpy(gguf.quants.dequantize(gguf.quants.quantize(rows, kind), kind)).swapaxes(-1, -2)


def pack_experts(directory):
    """The experts as published checkpoints hold them: [experts, outputs, inputs / 32, 16] of two neighbouring inputs a byte,
    the first in the low half, and an exponent a block."""
    path = directory / "model.safetensors"
    tensors = {}
    for key, value in load_file(path).items():
        if not key.endswith(("gate_up_proj", "down_proj")):
            tensors[key] = value
            continue
        rows = np.ascontiguousarray(value.swapaxes(-1, -2).numpy())
        blocks = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.MXFP4).reshape(*rows.shape[:-1], -1, 17)
        halves = np.concatenate([blocks[..., 1:] & 15, blocks[..., 1:] >> 4], axis=-1)  # GGUF: input i below input i + 16
        tensors[key + "_blocks"] = torch.from_numpy(halves[..., 0::2] | halves[..., 1::2] << 4)
        tensors[key + "_scales"] = torch.from_numpy(np.ascontiguousarray(blocks[..., 0]))
    save_file(tensors, path)
    config = json.loads((directory / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def take_long_factors(model):
    """transformers' class of PhiMoE scales long texts by long_mscale but rotates them by short_factor; Microsoft's own, from
    which the checkpoints come, and llama.cpp rotate them by long_factor."""
    rotary = model.model.rotary_emb
    compute = rotary.rope_init_fn
    rotary.rope_init_fn = lambda config: compute(config, seq_len=config.max_position_embeddings)


def decode(model, prompt):
    tokens = list(prompt)
    for _ in range(DECODED):
        tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    return tokens, model(torch.tensor([tokens])).logits[0].numpy()


def make(out, name, directories, architecture, config_class, parameters, context=0):
    torch.manual_seed(zlib.crc32(name.encode()))
    config = config_class(**parameters)
    classes = hf.AutoModelForImageTextToText if hasattr(config, "vision_config") else hf.AutoModelForCausalLM
    model = classes.from_config(config, attn_implementation="eager").float().eval()
    randomise(model, architecture)
    if name == "phimoe_long":
        take_long_factors(model)
    config = config.get_text_config()
    golden_gguf.write(out / f"{name}.gguf", architecture, config, model)
    if name in directories:
        model.save_pretrained(out / f"{name}-hf")
        if architecture == ARCH.GPT_OSS:
            pack_experts(out / f"{name}-hf")
        golden_hybrids.as_published(out / f"{name}-hf", name)
        golden_latents.as_published(out / f"{name}-hf", name)
        (out / f"{name}-hf" / "generation_config.json").unlink(missing_ok=True)
    text = model.language_model if name == "llama4" else model  # transformers 5.24's class of both parts yields no logits
    tokens, logits = decode(text, torch.randint(0, config.vocab_size, (PROMPT,)).tolist())
    golden = gguf.GGUFWriter(out / f"{name}.golden.gguf", "golden")
    golden.add_uint32("golden.prompt_length", PROMPT)
    golden.add_uint32("golden.context", context)
    golden.add_string("golden.made_by", f"transformers {hf.__version__}")
    golden.add_tensor("tokens", np.array(tokens, np.int32))
    golden.add_tensor("logits", logits.astype(np.float32))
    golden.write_header_to_file()
    golden.write_kv_data_to_file()
    golden.write_tensors_to_file()
    golden.close()
    print(name, "logits", logits.shape, "rms", float(np.sqrt((logits**2).mean())), "distinct", len(set(tokens[PROMPT:])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[1] / "tests" / "data" / "models")
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--all-directories", action="store_true", help="save each family as a directory too")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    for name in args.family or FAMILIES:
        make(args.out, name, FAMILIES if args.all_directories else DIRECTORIES, *FAMILIES[name])


if __name__ == "__main__":
    main()
