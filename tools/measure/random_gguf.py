#!/usr/bin/env python3
"""Writes a GGUF with random weights in the shape of a published model, to time engines on.

usage: tools/measure/random_gguf.py SHAPE TOKENIZER.json OUT.gguf --convert build/bin/inferflux-convert [--layers N] [--type Q4_K_M]

Names and shapes of the tensors are those of transformers' own class, made without memory. A directory of zeros, which takes no
room on the disk, goes through inferflux-convert; then each tensor is overwritten with random blocks of its type. So a model may be
larger than the machine, and takes no time to quantise. Its weights mean nothing; its routers spread the tokens over all experts.
Needs torch, transformers and gguf.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers

QWEN3 = {"hidden_size": 2048, "vocab_size": 151936, "rms_norm_eps": 1e-6, "norm_topk_prob": True, "tie_word_embeddings": False,
         "decoder_sparse_step": 1, "mlp_only_layers": [], "dtype": "bfloat16"}
# From the config.json of the published models.
SHAPES = {
    "qwen3-30b-a3b": ("Qwen3Moe", QWEN3 | {
        "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144,
        "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "rope_theta": 1e6, "max_position_embeddings": 40960}),
    "qwen3-next-80b-a3b": ("Qwen3Next", QWEN3 | {
        "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "intermediate_size": 5120,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "num_experts": 512, "num_experts_per_tok": 10,
        "rope_theta": 1e7, "partial_rotary_factor": 0.25, "max_position_embeddings": 262144, "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "full_attention_interval": 4}),
    "lfm2-1.2b": ("Lfm2", {
        "hidden_size": 2048, "vocab_size": 65536, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
        "block_ff_dim": 12288, "block_auto_adjust_ff_dim": True, "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256,
        "conv_L_cache": 3, "conv_bias": False, "full_attn_idxs": [2, 5, 8, 10, 12, 14], "rope_theta": 1e6, "norm_eps": 1e-5,
        "max_position_embeddings": 128000, "tie_word_embeddings": True, "dtype": "bfloat16"}),
}


def published(name, shape):
    """A parameter's names and shapes in a published file: the experts of a mixture are tensors of their own there."""
    if name.endswith("experts.gate_up_proj"):
        stem = name.removesuffix("gate_up_proj")
        for expert in range(shape[0]):
            for half in ("gate_proj", "up_proj"):
                yield f"{stem}{expert}.{half}.weight", (shape[1] // 2, shape[2])
    elif name.endswith("experts.down_proj"):
        for expert in range(shape[0]):
            yield f"{name.removesuffix('down_proj')}{expert}.down_proj.weight", tuple(shape[1:])
    else:
        yield name, tuple(shape)


def write_zeros(options, folder):
    prefix, values = SHAPES[options.shape]
    if options.layers:
        values = values | {"num_hidden_layers": options.layers}
    config = getattr(transformers, prefix + "Config")(**values)
    with torch.device("meta"):
        model = getattr(transformers, prefix + "ForCausalLM")(config)
    shapes = {n: s for name, p in model.state_dict().items() for n, s in published(name, p.shape)}
    if config.tie_word_embeddings:
        shapes.pop("lm_head.weight", None)
    config.architectures = [prefix + "ForCausalLM"]
    config.save_pretrained(folder)
    shutil.copy(options.tokenizer, folder / "tokenizer.json")
    header, end = {}, 0
    for name, shape in shapes.items():
        begin, end = end, end + 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(file.tell() + end)


def halves(count, value):
    return np.full(count, value, np.float16).view(np.uint8).reshape(count, 2)


def random_blocks(kind, count, random):
    """[count, bytes of a block]: values with a mean of about 0 and a deviation of about 0.02."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = random.integers(0, 256, (count, size), np.uint8)
    if kind == gguf.GGMLQuantizationType.Q4_K:  # d, dmin, 12 bytes of scales and minima, 128 of values
        blocks[:, 0:2], blocks[:, 2:4] = halves(count, 1.2e-4), halves(count, 9e-4)
    elif kind == gguf.GGMLQuantizationType.Q6_K:  # 192 bytes of values, 16 scales, d
        blocks[:, 208:210] = halves(count, 1.5e-5)
    elif kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0):
        blocks[:, 0:2] = halves(count, 2.7e-4 if kind == gguf.GGMLQuantizationType.Q8_0 else 4.3e-3)
    elif kind == gguf.GGMLQuantizationType.F32:
        return random.normal(0, 0.02, count).astype(np.float32).view(np.uint8).reshape(count, 4)
    elif kind == gguf.GGMLQuantizationType.F16:
        return random.normal(0, 0.02, count).astype(np.float16).view(np.uint8).reshape(count, 2)
    elif kind == gguf.GGMLQuantizationType.BF16:
        values = random.normal(0, 0.02, count).astype(np.float32).view(np.uint32) >> 16
        return values.astype(np.uint16).view(np.uint8).reshape(count, 2)
    else:
        raise SystemExit(f"no random blocks of the type {kind.name} are made here: take Q4_K_M, Q4_0, Q8_0, F16 or BF16")
    return blocks


def fill(path):
    """Matrices become random, vectors (norms, biases) ones. The blocks of a large tensor repeat, which no engine can see."""
    random, made, weights = np.random.default_rng(1), {}, 0
    with path.open("r+b") as file:
        for tensor in gguf.GGUFReader(path).tensors:
            weights += tensor.n_elements
            file.seek(tensor.data_offset)
            if len(tensor.shape) == 1:
                file.write(np.ones(tensor.n_elements, np.float32).data)
                continue
            kind = tensor.tensor_type
            if kind not in made:
                made[kind] = random_blocks(kind, (16 << 20) // gguf.GGML_QUANT_SIZES[kind][1], random).data.cast("B")
            left = tensor.n_bytes
            while left:
                left -= file.write(made[kind][:left])
    print(f"{path}: {weights / 1e9:.2f} billion weights, {path.stat().st_size / 1e9:.2f} GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--convert", required=True, help="the program inferflux-convert")
    parser.add_argument("--type", default="Q4_K_M")
    parser.add_argument("--layers", type=int, help="the first N layers only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.out.parent) as folder:
        write_zeros(options, Path(folder))
        subprocess.run([options.convert, "--force", "--type", options.type, folder, str(options.out)], check=True)
    fill(options.out)


if __name__ == "__main__":
    main()
