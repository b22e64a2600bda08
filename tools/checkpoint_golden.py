#!/usr/bin/env python3
"""Makes tests/data/checkpoints/: quantised weights as in published checkpoints, and their float values.

usage: checkpoint_golden.py [OUT_DIR]
Needs numpy, torch, transformers, safetensors and gguf (PyPI). `weights.safetensors` holds, for each CASE, the packed tensors
CASE.qweight, ... and CASE.expected, their float32 weights [outputs, inputs] by the published formulas.
`NAME-hf` are tiny random Llamas in such a format, `NAME.golden.gguf` the logits that transformers computes with the
dequantised weights. Seeded.

The formulas, from the papers' and packages' descriptions:
  GPTQ (AutoGPTQ, GPTQModel): w[o, i] = scales[g, o] * (q[i, o] - z[g, o]), g = g_idx[i]; words of 32 bits hold 32/bits
    numbers from the low end, of neighbouring inputs in qweight and neighbouring outputs in qzeros; format "gptq" stores
    z - 1, "gptq_v2" z.
  AWQ (AutoAWQ, "gemm"): w[o, i] = scales[g, o] * (q[i, o] - z[g, o]); a word holds eight neighbouring outputs in the
    order 0 2 4 6 1 3 5 7 from the low end, in qweight as in qzeros.
  FP8: w[o, i] = fp8[o, i] * scale, one scale for each tensor, output or block ("weight_scale_inv").
"""
import json
import pathlib
import sys
import zlib

import gguf
import numpy as np
import torch
import transformers
from safetensors.torch import save_file

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
PROMPT, DECODED, VOCAB, HIDDEN, FEED_FORWARD = 16, 8, 64, 64, 128


def pack(numbers, bits, axis, order=None):
    """Packs neighbours along the axis into 32-bit words; the first of `order` in the lowest bits."""
    numbers = np.moveaxis(numbers.astype(np.uint64), axis, -1)
    count = 32 // bits
    groups = numbers.reshape(*numbers.shape[:-1], -1, count)[..., order or list(range(count))]
    words = sum(groups[..., i] << np.uint64(bits * i) for i in range(count)).astype(np.uint32).view(np.int32)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(words, -1, axis)))


def grouped(rng, inputs, outputs, bits=4, group=32, symmetric=False, desc_act=False):
    """q [inputs, outputs], zeros and scales [groups, outputs], g_idx, and the weights [outputs, inputs]. desc_act: "shared" uses
    one permutation for every matrix with this many inputs, as in matrices that share their activations."""
    group = inputs if group == -1 else group
    groups = inputs // group
    q = rng.integers(0, 2**bits, (inputs, outputs))
    low = 1  # the values that the first format can store
    zeros = np.full((groups, outputs), 2 ** (bits - 1)) if symmetric else rng.integers(low, 2**bits, (groups, outputs))
    scales = (rng.uniform(0.5, 1.5, (groups, outputs)) * (1.2 / inputs**0.5) * 2.0 ** (2 - bits)).astype(np.float16)
    g_idx = np.arange(inputs) // group
    if desc_act:
        g_idx = (np.random.default_rng(inputs) if desc_act == "shared" else rng).permutation(g_idx)
    weights = scales[g_idx].astype(np.float32) * (q - zeros[g_idx]).astype(np.float32)
    return q, zeros, scales, g_idx.astype(np.int32), torch.from_numpy(np.ascontiguousarray(weights.T))


def gptq(rng, inputs, outputs, version=1, bits=4, **more):
    q, zeros, scales, g_idx, weights = grouped(rng, inputs, outputs, bits, **more)
    return {"qweight": pack(q, bits, 0), "qzeros": pack(zeros - 1 if version == 1 else zeros, bits, 1),
            "scales": torch.from_numpy(scales), "g_idx": torch.from_numpy(g_idx)}, weights


def awq(rng, inputs, outputs, **more):
    q, zeros, scales, _, weights = grouped(rng, inputs, outputs, **more)
    return {"qweight": pack(q, 4, 1, AWQ_ORDER), "qzeros": pack(zeros, 4, 1, AWQ_ORDER),
            "scales": torch.from_numpy(scales)}, weights


def fp8(rng, inputs, outputs, block=None, per_output=False, powers=False):
    values = torch.from_numpy(rng.normal(0, 40, (outputs, inputs)).astype(np.float32)).to(torch.float8_e4m3fn)
    shape = (1,) if not block and not per_output else (outputs, 1) if per_output else (
        -(-outputs // block[0]), -(-inputs // block[1]))
    scale = rng.uniform(0.5, 1.5, shape).astype(np.float32) * (0.03 / inputs**0.5)
    if powers:
        scale = np.exp2(np.round(np.log2(scale))).astype(np.float32)
    full = np.kron(scale, np.ones(block))[:outputs, :inputs] if block else np.broadcast_to(scale, (outputs, inputs))
    weights = values.to(torch.float32) * torch.from_numpy(full.astype(np.float32))
    name = "weight_scale_inv" if block else "weight_scale"
    return {"weight": values, name: torch.from_numpy(scale)}, weights


CASES = {
    "gptq_32": lambda r: gptq(r, 64, 16, group=32),
    "gptq_64_symmetric": lambda r: gptq(r, 128, 16, group=64, symmetric=True),
    "gptq_128_v2": lambda r: gptq(r, 256, 8, group=128, version=2),
    "gptq_whole": lambda r: gptq(r, 96, 8, group=-1, symmetric=True),
    "gptq_32_desc_act": lambda r: gptq(r, 64, 16, group=32, desc_act=True),
    "gptq_128_desc_act_v2": lambda r: gptq(r, 256, 8, group=128, symmetric=True, desc_act=True, version=2),
    "gptq_8_bits": lambda r: gptq(r, 64, 8, bits=8, group=32, symmetric=True),
    "gptq_8_bits_wide": lambda r: gptq(r, 64, 8, bits=8, group=32),
    "gptq_2_bits": lambda r: gptq(r, 64, 16, bits=2, group=32),
    "awq_32": lambda r: awq(r, 64, 16, group=32),
    "awq_64": lambda r: awq(r, 128, 8, group=64),
    "awq_128": lambda r: awq(r, 256, 8, group=128, symmetric=True),
    "fp8_tensor": lambda r: fp8(r, 32, 8),
    "fp8_output": lambda r: fp8(r, 32, 8, per_output=True),
    "fp8_block": lambda r: fp8(r, 48, 24, block=(16, 32)),
    "fp8_powers": lambda r: fp8(r, 48, 24, block=(16, 32), powers=True),
}

GPTQ = {"quant_method": "gptq", "bits": 4}
# name: (quantization_config, how a matrix is made)
MODELS = {
    "gptq": (GPTQ | {"group_size": 32, "sym": True, "desc_act": False},
             lambda *a: gptq(*a, group=32, symmetric=True)),
    "gptq_desc_act": (GPTQ | {"group_size": 32, "sym": False, "desc_act": True, "checkpoint_format": "gptq_v2"},
                      lambda *a: gptq(*a, group=32, desc_act=True, version=2)),
    "gptq_act_order": (GPTQ | {"group_size": 32, "sym": True, "desc_act": True},
                       lambda *a: gptq(*a, group=32, symmetric=True, desc_act="shared")),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm"},
            lambda *a: awq(*a, group=32)),
    "fp8": ({"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [32, 32]},
            lambda *a: fp8(*a, block=(32, 32))),
}


def make_model(out, name, quantization, quantise, packed_keys=("_proj",), key="quantization_config"):
    """A Llama whose weights of `packed_keys` are packed; config.json says so under `key`. `quantise` may be a dict by such keys."""
    torch.manual_seed(zlib.crc32(name.encode()))
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    config = transformers.LlamaConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=FEED_FORWARD, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    tensors = {}
    for name_of, parameter in model.named_parameters():
        if name_of.startswith("lm_head"):
            continue
        if any(part in name_of for part in packed_keys):
            own = quantise if callable(quantise) else next(of for part, of in quantise.items() if part in name_of)
            packed, weights = own(rng, parameter.shape[1], parameter.shape[0])
            parameter.copy_(weights)
            tensors |= {name_of.removesuffix("weight") + part: value.contiguous() for part, value in packed.items()}
            continue
        parameter.copy_((torch.randn_like(parameter) * 0.3).half().float())
        tensors[name_of] = parameter.half()
    (out / f"{name}-hf").mkdir(exist_ok=True)
    save_file(tensors, out / f"{name}-hf" / "model.safetensors")
    written = {k: v for k, v in config.to_dict().items() if v is not None} | {
        "architectures": ["LlamaForCausalLM"], key: quantization}
    (out / f"{name}-hf" / "config.json").write_text(json.dumps(written, indent=2) + "\n")
    write_golden(out, name, model)


def write_golden(out, name, model):
    """The tokens that it decodes greedily after a random prompt, and its logits."""
    tokens = torch.randint(0, VOCAB, (PROMPT,)).tolist()
    for _ in range(DECODED):
        tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    logits = model(torch.tensor([tokens])).logits[0].numpy().astype(np.float32)
    golden = gguf.GGUFWriter(out / f"{name}.golden.gguf", "golden")
    golden.add_uint32("golden.prompt_length", PROMPT)
    golden.add_uint32("golden.context", 0)
    golden.add_string("golden.made_by", f"transformers {transformers.__version__}")
    golden.add_tensor("tokens", np.array(tokens, np.int32))
    golden.add_tensor("logits", logits)
    golden.write_header_to_file()
    golden.write_kv_data_to_file()
    golden.write_tensors_to_file()
    golden.close()
    print(name, "logits rms", float(np.sqrt((logits**2).mean())))


def make_cases(path, cases):
    tensors = {}
    for name, make in cases.items():
        packed, weights = make(np.random.default_rng(zlib.crc32(name.encode())))
        tensors |= {f"{name}.{part}": value.contiguous() for part, value in packed.items()}
        tensors[f"{name}.expected"] = weights.contiguous()
    save_file(tensors, path)


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "tests/data/checkpoints"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    make_cases(out / "weights.safetensors", CASES)
    for name in MODELS:
        make_model(out, name, *MODELS[name])


if __name__ == "__main__":
    main()
