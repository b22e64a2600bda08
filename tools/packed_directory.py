#!/usr/bin/env python3
"""Makes a Hugging Face directory for benchmarks: packed random weights of Llama-3.2-1B's shapes, the embedded model's vocabulary.

    tools/packed_directory.py awq|act_order|compressed|nvfp4|fp8 OUT

Groups of 128 inputs with a zero point each (AWQ), symmetric groups of 128 with an act-order permutation (GPTQ) or without
one (compressed-tensors), groups of 16 (NVFP4), or blocks of 128 x 128 (FP8), seeded. Needs: numpy, gguf.
"""
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "e2e"))
import hf_directory  # noqa: E402

HIDDEN, LAYERS, FEED_FORWARD, HEADS, KV_HEADS, HEAD_DIM = 2048, 16, 8192, 32, 8, 64
GROUP = 128
PROJECTIONS = {"self_attn.q_proj": (HEADS * HEAD_DIM, HIDDEN), "self_attn.k_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
               "self_attn.v_proj": (KV_HEADS * HEAD_DIM, HIDDEN), "self_attn.o_proj": (HIDDEN, HEADS * HEAD_DIM),
               "mlp.gate_proj": (FEED_FORWARD, HIDDEN), "mlp.up_proj": (FEED_FORWARD, HIDDEN), "mlp.down_proj": (HIDDEN, FEED_FORWARD)}


def bf16(values: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return "BF16", values.shape, (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()


def random_awq(rng: np.random.Generator, outputs: int, inputs: int) -> dict:
    scales = rng.uniform(0.5, 1.5, (inputs // GROUP, outputs)) * 0.1 / inputs ** 0.5
    return {"qweight": ("I32", (inputs, outputs // 8), rng.bytes(inputs * outputs // 2)),
            "qzeros": ("I32", (inputs // GROUP, outputs // 8), rng.bytes(inputs // GROUP * outputs // 2)),
            "scales": ("F16", scales.shape, scales.astype(np.float16).tobytes())}


def random_act_order(rng: np.random.Generator, outputs: int, inputs: int) -> dict:
    scales = rng.uniform(0.5, 1.5, (inputs // GROUP, outputs)) * 0.1 / inputs ** 0.5
    groups = np.random.default_rng(inputs).permutation(np.arange(inputs, dtype=np.int32) // GROUP)  # shared by like matrices
    zeros = np.full((inputs // GROUP, outputs // 8), 0x77777777, np.uint32)  # 8, stored less 1
    return {"qweight": ("I32", (inputs // 8, outputs), rng.bytes(inputs * outputs // 2)),
            "qzeros": ("I32", zeros.shape, zeros.tobytes()), "g_idx": ("I32", groups.shape, groups.tobytes()),
            "scales": ("F16", scales.shape, scales.astype(np.float16).tobytes())}


def random_compressed(rng: np.random.Generator, outputs: int, inputs: int) -> dict:
    return {"weight_packed": ("I32", (outputs, inputs // 8), rng.bytes(inputs * outputs // 2)),
            "weight_scale": bf16(rng.uniform(0.5, 1.5, (outputs, inputs // GROUP)) * 0.1 / inputs ** 0.5),
            "weight_shape": ("I64", (2,), np.array([outputs, inputs]).tobytes())}


def random_nvfp4(rng: np.random.Generator, outputs: int, inputs: int) -> dict:
    scales = rng.integers(0x30, 0x48, (outputs, inputs // 16), dtype=np.uint8)  # 0.5 to 4
    return {"weight": ("U8", (outputs, inputs // 2), rng.bytes(inputs * outputs // 2)),
            "weight_scale": ("F8_E4M3", scales.shape, scales.tobytes()),
            "weight_scale_2": ("F32", (), np.float32(0.2 / inputs ** 0.5).tobytes())}


def random_fp8(rng: np.random.Generator, outputs: int, inputs: int) -> dict:
    bits = rng.integers(0, 256, (outputs, inputs), dtype=np.uint8)
    bits[(bits & 127) > 0x50] &= 0xbf  # no NaN, and no value that dominates the others
    scales = rng.uniform(0.5, 1.5, (outputs // GROUP, inputs // GROUP)) * 0.02 / inputs ** 0.5
    return {"weight": ("F8_E4M3", bits.shape, bits.tobytes()),
            "weight_scale_inv": ("F32", scales.shape, scales.astype(np.float32).tobytes())}


RANDOM = {"awq": random_awq, "act_order": random_act_order, "compressed": random_compressed, "nvfp4": random_nvfp4,
          "fp8": random_fp8}


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in RANDOM:
        sys.exit(__doc__)
    packing, out = sys.argv[1], Path(sys.argv[2])
    hf_directory.write_directory(out, packing=packing)
    for written in out.glob("*.safetensors*"):
        written.unlink()
    config = json.loads((out / "config.json").read_text())
    config |= {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "intermediate_size": FEED_FORWARD,
               "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM}
    if "group_size" in config["quantization_config"]:
        config["quantization_config"]["group_size"] = GROUP
    (out / "config.json").write_text(json.dumps(config))
    rng = np.random.default_rng(1)
    ones = bf16(np.ones(HIDDEN))
    tensors = {"model.embed_tokens.weight": bf16(rng.normal(0, 0.02, (config["vocab_size"], HIDDEN))), "model.norm.weight": ones}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        tensors |= {prefix + norm + ".weight": ones for norm in ("input_layernorm", "post_attention_layernorm")}
        for name, shape in PROJECTIONS.items():
            packed = RANDOM[packing](rng, *shape)
            tensors |= {f"{prefix}{name}.{part}": value for part, value in packed.items()}
    hf_directory.write_safetensors(out / "model.safetensors", tensors)


if __name__ == "__main__":
    main()
