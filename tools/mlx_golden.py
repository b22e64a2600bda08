#!/usr/bin/env python3
"""Makes tests/data/checkpoints/mlx*: weights quantised by MLX's own tools, and their float values.

usage: mlx_golden.py [OUT_DIR]
Needs PyPI's mlx in addition to what checkpoint_golden.py needs. `mlx.safetensors` holds, for each bits, group size and
type of the scales, random weights quantised by mlx.core.quantize, and `.expected`, scale * q + bias in float32, where q
is the result of mlx.core.dequantize with scales of 1 and biases of 0. `mlx_BITS-hf` are tiny random Llamas in such a format, including
the embedding; `mlx_BITS.golden.gguf` has the logits of transformers with the dequantised weights. The same for each
model of MIXTURES, whose experts are stacked as by ml-explore/mlx-lm's `convert` (`switch_mlp`). Seeded.
"""
import json
import pathlib
import re
import sys
import tempfile
import zlib

import mlx.core as mx
import numpy as np
import torch
import transformers as hf
from checkpoint_golden import HIDDEN, VOCAB, make_model, write_golden
from safetensors.torch import load_file, save_file

TYPES = {"f16": (mx.float16, torch.float16), "bf16": (mx.bfloat16, torch.bfloat16), "f32": (mx.float32, torch.float32)}
CASES = [(bits, 64, "bf16") for bits in (2, 3, 4, 5, 6, 8)] + [(4, 32, "f16"), (4, 128, "f32"), (8, 32, "f16"), (5, 128, "f16")]

SHAPE = dict(vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=32, num_hidden_layers=1, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, num_experts_per_tok=2)
ROUTER = {"group_size": 64, "bits": 8}  # mlx-lm's choice for Qwen3's, independent of the rest
# name: (transformers' configuration, `quantization`: weights with the value false are plain; without it all are)
MIXTURES = {
    "mlx_qwen3_moe": (hf.Qwen3MoeConfig(**SHAPE, num_experts=4, moe_intermediate_size=32, head_dim=16, norm_topk_prob=True),
                      {"group_size": 32, "bits": 4, "mode": "affine", "model.layers.0.mlp.gate": ROUTER}),
    "mlx_qwen2_moe": (hf.Qwen2MoeConfig(**SHAPE, num_experts=4, moe_intermediate_size=32, shared_expert_intermediate_size=64),
                      {"group_size": 32, "bits": 6, "model.layers.0.mlp.shared_expert_gate": False,
                       "model.layers.0.mlp.switch_mlp.down_proj": {"group_size": 32, "bits": 3}}),
    "mlx_mixtral": (hf.MixtralConfig(**SHAPE, num_local_experts=4), {"group_size": 32, "bits": 8}),
    "mlx_gpt_oss": (hf.GptOssConfig(**SHAPE, num_local_experts=4, head_dim=16, sliding_window=16, rope_parameters=dict(
        rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
        original_max_position_embeddings=16)),
                    {"group_size": 32, "bits": 4, "mode": "mxfp4", "model.layers.0.self_attn.q_proj": {"group_size": 32, "bits": 8},
                     "model.layers.0.mlp.router": {"group_size": 64, "bits": 8, "mode": "affine"}}),
    "mlx_plain_moe": (hf.Qwen3MoeConfig(**SHAPE, num_experts=3, moe_intermediate_size=24, head_dim=16,
                                         tie_word_embeddings=True), None),
}
PROJECTIONS = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}  # Mixtral's


def quantised(rng, inputs, outputs, bits, group, type_name, size=1.2):
    """The three tensors of a checkpoint, and the weights [outputs, inputs]."""
    mx_type, torch_type = TYPES[type_name]
    given = mx.array(rng.normal(0, size / inputs**0.5, (outputs, inputs)).astype(np.float32)).astype(mx_type)
    words, scales, biases = mx.quantize(given, group_size=group, bits=bits)
    ones = mx.ones(scales.shape, dtype=mx.float32)
    q = np.array(mx.dequantize(words, ones, ones * 0, group_size=group, bits=bits))
    scale, bias = (np.repeat(np.array(part.astype(mx.float32)), group, axis=1) for part in (scales, biases))
    weights = scale * q + bias
    theirs = np.array(mx.dequantize(words, scales.astype(mx.float32), biases.astype(mx.float32), group_size=group, bits=bits))
    assert np.allclose(weights, theirs, rtol=1e-6, atol=1e-7)
    as_torch = lambda part: torch.from_numpy(np.array(part.astype(mx.float32))).to(torch_type)
    packed = {"weight": torch.from_numpy(np.array(words).view(np.int32)).view(torch.uint32), "scales": as_torch(scales),
              "biases": as_torch(biases)}
    return packed, torch.from_numpy(weights)


def mxfp4(rng, *shape):
    """The same for 4-bit floats that share a power of two."""
    given = mx.array(rng.normal(0, 1.2 / shape[-1] ** 0.5, shape).astype(np.float32)).astype(mx.bfloat16)
    words, scales = mx.quantize(given, group_size=32, bits=4, mode="mxfp4")
    weights = np.array(mx.dequantize(words, scales, group_size=32, bits=4, mode="mxfp4").astype(mx.float32))
    packed = {"weight": torch.from_numpy(np.array(words).view(np.int32)).view(torch.uint32),
              "scales": torch.from_numpy(np.array(scales))}
    return packed, torch.from_numpy(weights)


def gpt_oss_experts(rng, name, value):
    """mlx-lm's tensors for gpt-oss' fused projections, [experts, inputs, outputs], or for their biases; and their values."""
    place, _, projection = name.rpartition(".")
    bias = projection.endswith("_bias")
    rows = {"down_proj": np.s_[...]} if "down" in projection else {"gate_proj": np.s_[..., ::2], "up_proj": np.s_[..., 1::2]}
    tensors, values = {}, (torch.randn_like(value) * 0.3).bfloat16().float()
    for own, of_projection in rows.items():
        if bias:
            tensors[f"{place}.{own}.bias"] = values[of_projection].bfloat16().contiguous()
            continue
        packed, weights = mxfp4(rng, *values[of_projection].swapaxes(-1, -2).shape)
        values[of_projection] = weights.swapaxes(-1, -2)
        tensors |= {f"{place}.{own}.{part}": numbers for part, numbers in packed.items()}
    return tensors, values


def stacked_name(name):
    """mlx-lm's name for a tensor, and the number of its expert."""
    found = re.fullmatch(r"(.*)\.experts\.(\d+)\.(\w+)\.weight", name)
    if not found:
        return name, None
    return f"{found[1]}.switch_mlp.{PROJECTIONS.get(found[3], found[3])}.weight", int(found[2])


def make_mixture(out, name, config, quantization):
    torch.manual_seed(zlib.crc32(name.encode()))
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    tensors, stacks = {}, {}
    with tempfile.TemporaryDirectory() as folder:  # transformers' own layout
        hf.AutoModelForCausalLM.from_config(config).float().save_pretrained(folder)
        path = pathlib.Path(folder) / "model.safetensors"
        weights = load_file(path)
        for key, value in sorted(weights.items()):
            place, expert = stacked_name(key)
            if key == "lm_head.weight" and config.tie_word_embeddings:
                continue
            own = (quantization or {}).get(place.removesuffix(".weight"), quantization)
            if config.model_type == "gpt_oss" and ".experts." in key:
                own_tensors, weights[key] = gpt_oss_experts(rng, key, value)
                tensors |= own_tensors
                continue
            if own and own.get("mode") == "mxfp4" and value.ndim == 2:
                packed, weights[key] = mxfp4(rng, *value.shape)
            elif own and value.ndim == 2 and value.shape[1] % own["group_size"] == 0:
                # Experts of little weight have scales below the range of float16.
                size = 2.0**-14 if expert == 3 and "down_proj" in place else 1.2
                packed, weights[key] = quantised(rng, value.shape[1], value.shape[0], own["bits"], own["group_size"], "bf16", size)
            else:
                scale = 0.3 if value.ndim == 1 else 1.2 / value.shape[-1] ** 0.5
                packed = {place.rpartition(".")[2]: (torch.randn_like(value) * scale).bfloat16()}
                weights[key] = next(iter(packed.values())).float()
            for part, numbers in packed.items():
                part_name = f"{place.rpartition('.')[0]}.{part}"
                if expert is None:
                    tensors[part_name] = numbers.contiguous()
                else:
                    stacks.setdefault(part_name, []).append((expert, numbers))
        save_file(weights, path, metadata={"format": "pt"})
        model = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    for part_name, parts in stacks.items():
        tensors[part_name] = torch.from_numpy(np.stack([as_numpy(n) for _, n in sorted(parts, key=lambda p: p[0])])).view(
            parts[0][1].dtype)
    (out / f"{name}-hf").mkdir(exist_ok=True)
    save_file(tensors, out / f"{name}-hf" / "model.safetensors", metadata={"format": "mlx"})
    written = {k: v for k, v in config.to_dict().items() if v is not None} | {"architectures": model.config.architectures}
    if quantization:
        written |= {"quantization": quantization, "quantization_config": quantization}
    (out / f"{name}-hf" / "config.json").write_text(json.dumps(written, indent=2) + "\n")
    write_golden(out, name, model)


def as_numpy(numbers):
    """The bits of words and of bfloat16, for which numpy and torch have no common type."""
    return numbers.contiguous().view(torch.int32 if numbers.dtype == torch.uint32 else torch.int16).numpy()


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "tests/data/checkpoints"
    mx.set_default_device(mx.cpu)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    tensors = {}
    for bits, group, type_name in CASES:
        name = f"mlx_{bits}_{group}_{type_name}"
        packed, weights = quantised(np.random.default_rng(zlib.crc32(name.encode())), 256, 6, bits, group, type_name)
        tensors |= {f"{name}.{part}": value for part, value in packed.items()} | {f"{name}.expected": weights}
    save_file(tensors, out / "mlx.safetensors")
    for bits, group in ((4, 32), (8, 64)):
        make_model(out, f"mlx_{bits}", {"group_size": group, "bits": bits}, lambda *a: quantised(*a, bits, group, "bf16"),
                   ("_proj", "embed_tokens"), "quantization")
    for name, (config, quantization) in MIXTURES.items():
        make_mixture(out, name, config, quantization)


if __name__ == "__main__":
    main()
