#!/usr/bin/env python3
"""Makes tests/data/checkpoints/mlx*: weights as MLX's own tools quantise them, and what they stand for.

usage: mlx_golden.py [OUT_DIR]
Needs PyPI's mlx beside what checkpoint_golden.py needs. `mlx.safetensors` holds, for each bits, group size and type of the
scales, what mlx.core.quantize makes of random weights, and `.expected`, scale * q + bias in float32, q being what
mlx.core.dequantize says with scales of 1 and biases of 0. `mlx_BITS-hf` are tiny random Llamas in such a form, their
embedding included, `mlx_BITS.golden.gguf` the logits that transformers computes with the dequantised weights. Seeded.
"""
import pathlib
import sys
import zlib

import mlx.core as mx
import numpy as np
import torch
from checkpoint_golden import make_model
from safetensors.torch import save_file

TYPES = {"f16": (mx.float16, torch.float16), "bf16": (mx.bfloat16, torch.bfloat16), "f32": (mx.float32, torch.float32)}
CASES = [(bits, 64, "bf16") for bits in (2, 3, 4, 5, 6, 8)] + [(4, 32, "f16"), (4, 128, "f32"), (8, 32, "f16"), (5, 128, "f16")]


def quantised(rng, inputs, outputs, bits, group, type_name):
    """The three tensors of a checkpoint, and the weights [outputs, inputs]."""
    mx_type, torch_type = TYPES[type_name]
    given = mx.array(rng.normal(0, 1.2 / inputs**0.5, (outputs, inputs)).astype(np.float32)).astype(mx_type)
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


if __name__ == "__main__":
    main()
