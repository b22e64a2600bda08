#!/usr/bin/env python3
"""Makes tests/data/checkpoints/c* and modelopt*: weights as compressed-tensors and NVIDIA's ModelOpt write them.

usage: compressed_golden.py [OUT_DIR]
Needs PyPI's compressed-tensors (0.20) and nvidia-modelopt (0.47) in addition to what checkpoint_golden.py needs. Seeded.
`compressed.safetensors` holds, for each CASE, random weights packed by the packages' own compressors, and `.expected`, their
float32 values [outputs, inputs]:
  integers: the package's own decompression with the scales in float32; the formula, w = scale * (q - zero), is asserted
    to give the same. This version does not decompress weight_g_idx: it packs that case, and the formula computes it
    (0.18.0 decompresses it to the same values).
  NVFP4: w = q * block scale * tensor scale, the first two multiplied first, which is exact. The packages multiply the
    scales first, and are asserted to give the same except for rounding.
`NAME-hf` are tiny random models in such a format, `NAME.golden.gguf` the logits that transformers computes with those weights.
"""
import json
import pathlib
import sys
import tempfile
import zlib

import numpy as np
import torch
import transformers as hf
from checkpoint_golden import HIDDEN, VOCAB, fp8, make_cases, make_model, write_golden
from compressed_tensors.compressors import (IntQuantizationCompressor, MXFP4PackedCompressor, NVFP4PackedCompressor,
                                            PackedQuantizationCompressor, unpack_fp4_from_uint8, unpack_from_int32)
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from modelopt.torch.quantization.qtensor import NVFP4QTensor
from safetensors.torch import load_file, save_file


def args_of(strategy, **more):
    return QuantizationArgs(strategy=strategy, **({"type": "int", "num_bits": 4} | more))


def given(rng, inputs, outputs):
    return torch.from_numpy(rng.normal(0.02, 1.2 / inputs**0.5, (outputs, inputs)).astype(np.float32))


def qparams(weights, args, dtype):
    """Scales and zero points, calculated by the package, [outputs, groups] or [1]."""
    groups = {"tensor": weights.reshape(1, 1, -1), "channel": weights[:, None, :]}.get(
        args.strategy, weights.reshape(weights.shape[0], -1, args.group_size or 1))
    scale, zero = calculate_qparams(groups.amin(-1), groups.amax(-1), args)
    shape = (1,) if args.strategy == "tensor" else scale.shape
    return scale.to(dtype).reshape(shape), zero.round().to(torch.int8).reshape(shape)


def ints(rng, inputs, outputs, compressor=PackedQuantizationCompressor, dtype=torch.bfloat16, change=None, **more):
    """The tensors of a checkpoint, and the weights. `change` modifies the weights and scales."""
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
    """Sets the second group of the third output to zero weights and a scale that float16 rounds to zero."""
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


def fp4_values(packed, scale, factor):
    rows, columns = packed.shape
    q = unpack_fp4_from_uint8(packed, rows, columns * 2, dtype=torch.float32)
    return q, q * scale.float().repeat_interleave(16, 1) * factor


def nvfp4(rng, inputs, outputs):
    args = args_of("tensor_group", type="float", group_size=16, scale_dtype=torch.float8_e4m3fn)
    weights = given(rng, inputs, outputs)
    factor = generate_gparam(weights.amin(), weights.amax())
    groups = weights.reshape(outputs, -1, 16)
    scale, _ = calculate_qparams(groups.amin(-1), groups.amax(-1), args, global_scale=factor)
    packed = NVFP4PackedCompressor.compress({"weight": weights, "weight_scale": scale, "weight_global_scale": factor},
                                            QuantizationScheme(targets=["Linear"], weights=args))
    q, made = fp4_values(packed["weight_packed"], packed["weight_scale"], 1 / factor)
    theirs = dequantize(q, packed["weight_scale"].float(), args=args, global_scale=factor, dtype=torch.float32)
    assert torch.allclose(made, theirs, rtol=1e-6, atol=0) and (made - weights).abs().mean() < 0.2 * weights.abs().mean()
    return packed | {"input_global_scale": torch.tensor([3.0])}, made


def mxfp4(rng, inputs, outputs):
    args = args_of("group", type="float", group_size=32, scale_dtype=torch.uint8)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    weights = given(rng, inputs, outputs)
    groups = weights.reshape(outputs, -1, 32)
    scale, _ = calculate_qparams(groups.amin(-1), groups.amax(-1), args)
    packed = MXFP4PackedCompressor.compress({"weight": weights, "weight_scale": scale}, scheme)
    made = MXFP4PackedCompressor.decompress(packed, scheme)["weight"].float()  # few bits and a power of two: exact in bfloat16
    q = unpack_fp4_from_uint8(packed["weight_packed"], outputs, inputs, dtype=torch.float32)
    assert torch.equal(made, q * torch.exp2(packed["weight_scale"].float() - 127).repeat_interleave(32, 1)), "the formula"
    assert packed["weight_scale"].dtype == torch.uint8 and (made - weights).abs().mean() < 0.2 * weights.abs().mean()
    return packed, made


def modelopt_nvfp4(rng, inputs, outputs):
    weights = given(rng, inputs, outputs)
    packed, scale, factor = NVFP4QTensor.quantize(weights.clone(), 16)
    _, made = fp4_values(packed._quantized_data, scale, factor)
    theirs = packed.dequantize(torch.float32, scale=scale, double_scale=factor, block_sizes={-1: 16})
    assert torch.allclose(made, theirs, rtol=1e-6, atol=0) and (made - weights).abs().mean() < 0.2 * weights.abs().mean()
    return {"weight": packed._quantized_data, "weight_scale": scale, "weight_scale_2": factor,
            "input_scale": torch.tensor(0.5)}, made


def modelopt_fp8(rng, inputs, outputs):
    packed, weights = fp8(rng, inputs, outputs)
    return packed | {"weight_scale": packed["weight_scale"][0], "input_scale": torch.tensor(0.5)}, weights


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
    "ct_nvfp4": lambda r: nvfp4(r, 128, 3),
    "ct_nvfp4_48_inputs": lambda r: nvfp4(r, 48, 3),
    "ct_mxfp4": lambda r: mxfp4(r, 64, 4),
    "modelopt_nvfp4": lambda r: modelopt_nvfp4(r, 64, 5),
}


def config_of(**groups):
    """quantization_config with one group for each format, as llm-compressor writes it."""
    return {"quant_method": "compressed-tensors", "quantization_status": "compressed", "ignore": ["lm_head"],
            "format": "mixed-precision" if len(groups) > 1 else next(iter(groups)).replace("_", "-"),
            "config_groups": {f"group_{i}": {"format": name.replace("_", "-"), "targets": targets,
                                             "weights": args_of(**args).model_dump(mode="json", exclude_none=True)}
                              for i, (name, (targets, args)) in enumerate(groups.items())}}


def make_mixture(out, name, config, quantise):
    """An MoE model whose weights are packed by the first entry of `quantise` whose key is in their names; config.json omits it."""
    torch.manual_seed(zlib.crc32(name.encode()))
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    tensors = {}
    with tempfile.TemporaryDirectory() as folder:  # transformers' own layout
        hf.AutoModelForCausalLM.from_config(config).float().save_pretrained(folder)
        path = pathlib.Path(folder) / "model.safetensors"
        weights = load_file(path)
        for key, value in sorted(weights.items()):
            own = next((of for part, of in quantise.items() if part in key), None)
            if own:
                packed, weights[key] = own(rng, value.shape[1], value.shape[0])
                tensors |= {key.removesuffix("weight") + part: numbers.contiguous() for part, numbers in packed.items()}
            else:
                tensors[key] = (torch.randn_like(value) * (0.3 if value.ndim == 1 else 1.2 / value.shape[-1] ** 0.5)).half()
                weights[key] = tensors[key].float()
        save_file(weights, path, metadata={"format": "pt"})
        model = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    (out / f"{name}-hf").mkdir(exist_ok=True)
    save_file(tensors, out / f"{name}-hf" / "model.safetensors")
    written = {k: v for k, v in config.to_dict().items() if v is not None} | {"architectures": model.config.architectures}
    (out / f"{name}-hf" / "config.json").write_text(json.dumps(written, indent=2) + "\n")
    write_golden(out, name, model)


W4 = {"num_bits": 4, "symmetric": False} | GROUPS
W8 = {"num_bits": 8, "strategy": "channel"}
NVFP4 = {"strategy": "tensor_group", "type": "float", "group_size": 16}
# name: (quantization_config, how a matrix whose name has such a part is made)
MODELS = {
    "ct_ints": (config_of(pack_quantized=(["re:.*mlp.*"], W4), int_quantized=(["re:.*self_attn.*"], W8)),
                {"mlp": lambda *a: ints(*a, **W4), "self_attn": lambda *a: bytes_of(*a, **W8)}),
    "ct_mxfp4": (config_of(mxfp4_pack_quantized=(["Linear"], {"strategy": "group", "type": "float", "group_size": 32})),
                 {"_proj": mxfp4}),
    "ct_nvfp4": (config_of(nvfp4_pack_quantized=(["Linear"], NVFP4)), {"_proj": nvfp4}),
}
# Early ModelOpt, whose config.json does not record the quantisation.
MIXTURE = hf.Qwen3MoeConfig(vocab_size=VOCAB, hidden_size=HIDDEN, moe_intermediate_size=64, num_hidden_layers=1, num_experts=3,
                            num_experts_per_tok=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                            norm_topk_prob=True, max_position_embeddings=64, tie_word_embeddings=True, bos_token_id=1,
                            eos_token_id=2)


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "tests/data/checkpoints"
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    make_cases(out / "compressed.safetensors", CASES)
    for name, (config, makers) in MODELS.items():
        make_model(out, name, config, makers, tuple(makers))
    make_mixture(out, "modelopt_moe", MIXTURE,
                 {".experts.1.down_proj": modelopt_fp8, ".experts.": modelopt_nvfp4, "_proj": modelopt_fp8})


if __name__ == "__main__":
    main()
