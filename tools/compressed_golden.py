#!/usr/bin/env python3
"""Makes tests/data/checkpoints/ct*: weights as the package compressed-tensors writes them, and what they stand for.

usage: compressed_golden.py [OUT_DIR]
Needs PyPI's compressed-tensors (0.20) beside what checkpoint_golden.py needs. `compressed.safetensors` holds, for each CASE,
what the package's own compressors make of random weights and `.expected`, the float32 weights [outputs, inputs] that its
decompressors make of that with the scales in float32; the formula, w = scale * (q - zero), is asserted to say the same. The
package no longer knows weight_g_idx (0.16 did): that case is packed by it and computed by the formula. `NAME-hf` are tiny
random Llamas in such a form, `NAME.golden.gguf` the logits that transformers computes with the decompressed weights. Seeded.
"""
import pathlib
import sys
import zlib

import numpy as np
import torch
from checkpoint_golden import make_model
from compressed_tensors.compressors import IntQuantizationCompressor, PackedQuantizationCompressor, unpack_from_int32
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams
from safetensors.torch import save_file


def args_of(strategy, **more):
    return QuantizationArgs(strategy=strategy, **({"type": "int", "num_bits": 4} | more))


def given(rng, inputs, outputs):
    return torch.from_numpy(rng.normal(0.02, 1.2 / inputs**0.5, (outputs, inputs)).astype(np.float32))


def qparams(weights, args, dtype):
    """Scales and zero points as the package calculates them, [outputs, groups] or [1]."""
    groups = {"tensor": weights.reshape(1, 1, -1), "channel": weights[:, None, :]}.get(
        args.strategy, weights.reshape(weights.shape[0], -1, args.group_size or 1))
    scale, zero = calculate_qparams(groups.amin(-1), groups.amax(-1), args)
    shape = (1,) if args.strategy == "tensor" else scale.shape
    return scale.to(dtype).reshape(shape), zero.round().to(torch.int8).reshape(shape)


def ints(rng, inputs, outputs, compressor=PackedQuantizationCompressor, dtype=torch.bfloat16, change=None, **more):
    """The tensors of a checkpoint, and the weights. `change` makes other weights and scales of those."""
    args = args_of(**more)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    weights = given(rng, inputs, outputs)
    scale, zero = qparams(weights, args, dtype)
    if change:
        weights, scale = change(weights, scale)
    packed = compressor.compress({"weight": weights.to(dtype), "weight_scale": scale, "weight_zero_point": zero}, scheme)
    made = compressor.decompress(packed | {"weight_scale": scale.float()}, scheme)["weight"]
    assert made.dtype == torch.float32 and (made - weights).abs().mean() < 0.7 * weights.abs().mean(), "it is a likeness"
    q = packed["weight"] if "weight" in packed else unpack_from_int32(packed["weight_packed"], args.num_bits, weights.shape)
    spread = lambda part: part.float().reshape(-1, part.shape[-1]).repeat_interleave(weights.shape[1] // part.shape[-1], 1)
    assert torch.equal(made, spread(scale) * (q - (0 if args.symmetric else spread(zero)))), "the formula"
    return packed, made


def bytes_of(rng, *shape, **more):
    return ints(rng, *shape, **({"compressor": IntQuantizationCompressor, "num_bits": 8} | more))


def dead_group(weights, scale):
    """The second group of the third output has no weights, and a scale that float16 rounds to nothing."""
    group = weights.shape[1] // scale.shape[1]
    weights[2, group:2 * group] = 0
    scale[2, 1] = 1e-12
    return weights, scale


def in_order_of_activations(rng, inputs, outputs, group):
    packed, _ = ints(rng, inputs, outputs, strategy="group", group_size=group)
    g_idx = torch.from_numpy(rng.permutation(np.arange(inputs) // group).astype(np.int32))
    q = unpack_from_int32(packed["weight_packed"], 4, (outputs, inputs))
    return packed | {"weight_g_idx": g_idx}, packed["weight_scale"].float()[:, g_idx.long()] * q


def without_order(rng, *shape):
    packed, weights = ints(rng, *shape, strategy="group", group_size=32)
    return packed | {"weight_g_idx": torch.full((shape[0],), -1, dtype=torch.int32)}, weights


GROUPS = {"strategy": "group", "group_size": 32}
CASES = {
    "ct_4_groups": lambda r: ints(r, 64, 12, **GROUPS),
    "ct_4_groups_asymmetric": lambda r: ints(r, 64, 12, symmetric=False, **GROUPS),
    "ct_4_outputs": lambda r: ints(r, 96, 5, strategy="channel"),
    "ct_4_outputs_asymmetric": lambda r: ints(r, 96, 5, strategy="channel", symmetric=False, dtype=torch.float16),
    "ct_4_tensor": lambda r: ints(r, 64, 4, strategy="tensor"),
    "ct_4_tensor_asymmetric": lambda r: ints(r, 64, 4, strategy="tensor", symmetric=False),
    "ct_4_odd_inputs": lambda r: ints(r, 44, 4, strategy="channel"),
    "ct_4_float_scales": lambda r: ints(r, 64, 4, dtype=torch.float32, **GROUPS),
    "ct_4_dead_group": lambda r: ints(r, 64, 4, change=dead_group, **GROUPS),
    "ct_4_ordered": lambda r: in_order_of_activations(r, 128, 4, 32),
    "ct_4_not_ordered": lambda r: without_order(r, 64, 4),
    "ct_2_groups": lambda r: ints(r, 64, 4, num_bits=2, **GROUPS),
    "ct_8_groups": lambda r: ints(r, 64, 4, num_bits=8, **GROUPS),
    "ct_8_groups_asymmetric": lambda r: ints(r, 64, 6, num_bits=8, symmetric=False, **GROUPS),
    "ct_bytes_outputs": lambda r: bytes_of(r, 64, 4, strategy="channel"),
    "ct_bytes_groups": lambda r: bytes_of(r, 64, 4, **GROUPS),
    "ct_bytes_tensor": lambda r: bytes_of(r, 64, 4, strategy="tensor"),
    "ct_bytes_asymmetric": lambda r: bytes_of(r, 64, 4, strategy="channel", symmetric=False),
}


def config_of(**groups):
    """quantization_config with a group a format, as llm-compressor writes it."""
    return {"quant_method": "compressed-tensors", "quantization_status": "compressed", "ignore": ["lm_head"],
            "format": "mixed-precision" if len(groups) > 1 else next(iter(groups)).replace("_", "-"),
            "config_groups": {f"group_{i}": {"format": name.replace("_", "-"), "targets": targets,
                                             "weights": args_of(**args).model_dump(mode="json", exclude_none=True)}
                              for i, (name, (targets, args)) in enumerate(groups.items())}}


W4 = {"num_bits": 4, "symmetric": False} | GROUPS
W8 = {"num_bits": 8, "strategy": "channel"}
# name: (quantization_config, how a matrix whose name has such a part is made)
MODELS = {
    "ct_ints": (config_of(pack_quantized=(["re:.*mlp.*"], W4), int_quantized=(["re:.*self_attn.*"], W8)),
                {"mlp": lambda *a: ints(*a, **W4), "self_attn": lambda *a: bytes_of(*a, **W8)}),
}


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "tests/data/checkpoints"
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    tensors = {}
    for name, make in CASES.items():
        packed, weights = make(np.random.default_rng(zlib.crc32(name.encode())))
        tensors |= {f"{name}.{part}": value.contiguous() for part, value in packed.items()}
        tensors[f"{name}.expected"] = weights.contiguous()
    save_file(tensors, out / "compressed.safetensors")
    for name, (config, makers) in MODELS.items():
        make_model(out, name, config, makers, tuple(makers))


if __name__ == "__main__":
    main()
