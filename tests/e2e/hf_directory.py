"""The embedded model as a Hugging Face directory: bit-identical weights, in two shards."""

import json
import struct
from pathlib import Path

import gguf
import numpy as np
from server_process import MODEL

NAMES = {
    "token_embd": "embed_tokens", "output_norm": "norm", "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
# How GGUF's "qwen2" splits text.
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def name_of(gguf_name: str) -> str:
    parts = gguf_name.split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{NAMES[parts[2]]}.weight"
    return f"model.{NAMES[parts[0]]}.weight"


def half_apart(rows: np.ndarray, heads: int) -> np.ndarray:
    """GGUF's llama rotates neighbouring rows of a head; transformers rotates its two halves."""
    return rows.reshape(heads, len(rows) // heads // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def write_safetensors(path: Path, tensors: dict[str, tuple[str, tuple[int, ...], bytes]]) -> None:
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def as_gptq(weight: np.ndarray, group: int = 32) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Rounded to four bits around the middle, as GPTQ checkpoints pack them; [outputs, inputs]."""
    outputs, inputs = weight.shape
    groups = weight.reshape(outputs, inputs // group, group)
    scales = (np.abs(groups).max(-1) / 7.5).astype(np.float16)
    q = np.clip(np.rint(groups / np.maximum(scales[..., None].astype(np.float32), 1e-8)) + 8, 0, 15)
    numbers = q.reshape(outputs, inputs).T.astype(np.uint32).reshape(inputs // 8, 8, outputs)
    words = sum(numbers[:, i] << np.uint32(4 * i) for i in range(8))
    zeros = np.full((inputs // group, outputs // 8), 0x77777777, np.uint32)  # 8, stored less 1
    return {"qweight": ("I32", words.shape, words.tobytes()), "qzeros": ("I32", zeros.shape, zeros.tobytes()),
            "scales": ("F16", scales.T.shape, np.ascontiguousarray(scales.T).tobytes())}


def as_act_order(weight: np.ndarray, group: int = 32) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """The same with act-order (desc_act): one permutation of the inputs for all matrices with this many inputs."""
    inputs = weight.shape[1]
    order = np.random.default_rng(inputs).permutation(inputs)
    packed = as_gptq(np.ascontiguousarray(weight[:, order]), group)
    _, shape, data = packed["qweight"]
    words = np.frombuffer(data, np.uint32).reshape(shape)
    numbers = np.stack([words >> np.uint32(4 * i) & np.uint32(15) for i in range(8)], 1).reshape(inputs, -1)
    back, groups = np.empty_like(numbers), np.empty(inputs, np.int32)
    back[order], groups[order] = numbers, np.arange(inputs, dtype=np.int32) // group
    words = sum(back.reshape(inputs // 8, 8, -1)[:, i] << np.uint32(4 * i) for i in range(8))
    return packed | {"qweight": ("I32", shape, words.tobytes()), "g_idx": ("I32", groups.shape, groups.tobytes())}


AWQ_PLACES = np.array([0, 4, 1, 5, 2, 6, 3, 7], np.uint32)  # of eight outputs in a word, from the lowest bits


def awq_words(numbers: np.ndarray) -> np.ndarray:
    """Packs 4-bit [n, outputs] as AWQ does."""
    return (numbers.astype(np.uint32).reshape(len(numbers), -1, 8) << 4 * AWQ_PLACES).sum(-1, dtype=np.uint32)


def as_awq(weight: np.ndarray, group: int = 32) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Rounded to four bits with a zero point for each group, as AWQ checkpoints pack them; [outputs, inputs]."""
    outputs, inputs = weight.shape
    groups = weight.reshape(outputs, inputs // group, group)
    lowest, highest = np.minimum(groups.min(-1), 0), np.maximum(groups.max(-1), 0)
    scales = np.maximum((highest - lowest) / 15, 1e-6).astype(np.float16)
    wide = scales.astype(np.float32)
    zeros = np.clip(np.rint(-lowest / wide), 0, 15)
    q = np.clip(np.rint(groups / wide[..., None]) + zeros[..., None], 0, 15).reshape(outputs, inputs)
    return {"qweight": ("I32", (inputs, outputs // 8), awq_words(q.T).tobytes()),
            "qzeros": ("I32", (inputs // group, outputs // 8), awq_words(zeros.T).tobytes()),
            "scales": ("F16", scales.T.shape, np.ascontiguousarray(scales.T).tobytes())}


def e4m3() -> np.ndarray:
    """The values of 8-bit floats, by their bits, without the two NaNs."""
    bits = np.arange(256)
    exponent, mantissa = bits >> 3 & 15, bits & 7
    values = np.where(exponent == 0, mantissa / 512, (1 + mantissa / 8) * 2.0 ** (exponent - 7)) * np.where(bits > 127, -1, 1)
    return np.where(bits & 127 == 127, np.inf, values)


def nearest(values: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The index of the nearest value in a table whose last values may be infinite."""
    order = np.argsort(table, kind="stable")[:np.isfinite(table).sum()]
    known = table[order]
    above = np.clip(np.searchsorted(known, values), 1, len(known) - 1)
    return order[above - (values - known[above - 1] < known[above] - values)].astype(np.uint8)


def as_fp8(weight: np.ndarray, block: int = 128) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Rounded to 8-bit floats with a scale for each block of outputs and inputs, as DeepSeek's and Qwen's checkpoints have them."""
    outputs, inputs = weight.shape
    tiles = [[weight[o:o + block, i:i + block] for i in range(0, inputs, block)] for o in range(0, outputs, block)]
    scales = np.array([[np.abs(tile).max() / 448 for tile in row] for row in tiles], np.float32)
    scaled = weight / np.kron(scales, np.ones((block, block), np.float32))[:outputs, :inputs]
    bits = nearest(scaled, e4m3())
    return {"weight": ("F8_E4M3", weight.shape, bits.tobytes()), "weight_scale_inv": ("F32", scales.shape, scales.tobytes())}


def as_compressed(weight: np.ndarray, group: int = 32) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Rounded to four bits around the middle, as compressed-tensors packs them; [outputs, inputs]."""
    outputs, inputs = weight.shape
    groups = weight.reshape(outputs, inputs // group, group)
    scales = (np.abs(groups).max(-1) / 7.5).astype(np.float32).view(np.uint32) >> 16  # BF16
    wide = (scales << 16).view(np.float32)[..., None]
    q = np.clip(np.rint(groups / np.maximum(wide, 1e-8)) + 8, 0, 15)
    words = (q.astype(np.uint32).reshape(outputs, inputs // 8, 8) << 4 * np.arange(8, dtype=np.uint32)).sum(-1, dtype=np.uint32)
    return {"weight_packed": ("I32", words.shape, words.tobytes()),
            "weight_scale": ("BF16", scales.shape, scales.astype(np.uint16).tobytes()),
            "weight_shape": ("I64", (2,), np.array(weight.shape, np.int64).tobytes())}


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def as_nvfp4(weight: np.ndarray) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Rounded to 4-bit floats with a scale for every 16 inputs and a per-tensor scale, as in ModelOpt's checkpoints."""
    outputs, inputs = weight.shape
    groups = weight.reshape(outputs, inputs // 16, 16)
    factor = np.abs(weight).max().astype(np.float32) / np.float32(6 * 448)
    scales = nearest(np.abs(groups).max(-1) / 6 / factor, np.where(np.arange(256) < 128, e4m3(), np.inf))
    wide = e4m3()[scales][..., None] * factor
    q = nearest(groups / np.maximum(wide, 1e-12), FP4).reshape(outputs, inputs)
    pairs = q[:, ::2] | q[:, 1::2] << 4
    return {"weight": ("U8", pairs.shape, pairs.tobytes()), "weight_scale": ("F8_E4M3", scales.shape, scales.tobytes()),
            "weight_scale_2": ("F32", (), factor.tobytes()), "input_scale": ("F32", (), np.float32(1).tobytes())}


# The packings of weights, and their entries in config.json.
PACKINGS = {
    "gptq": (as_gptq, {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True}),
    "act_order": (as_act_order, {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True, "desc_act": True}),
    "awq": (as_awq, {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm"}),
    "compressed": (as_compressed, {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {
        "group_0": {"weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}}}}),
    "nvfp4": (as_nvfp4, {"quant_method": "modelopt", "quant_algo": "NVFP4"}),
    "fp8": (as_fp8, {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}),
}


def field(reader: gguf.GGUFReader, key: str):
    return reader.get_field(key).contents()


def write_weights(reader: gguf.GGUFReader, out: Path, packing: str) -> None:
    heads = {"attn_q": field(reader, "llama.attention.head_count"), "attn_k": field(reader, "llama.attention.head_count_kv")}
    tensors = {}
    for tensor in reader.tensors:
        shape = tuple(int(n) for n in reversed(tensor.shape))
        data = tensor.data.reshape(shape[0], -1)
        stem = tensor.name.split(".")[-2]
        if stem in heads:
            data = half_apart(data, heads[stem])
        name = name_of(tensor.name)
        tensors[name] = (tensor.tensor_type.name, shape, np.ascontiguousarray(data).tobytes())
        if packing and "_proj" in name:
            _, _, stored = tensors.pop(name)
            weight = (np.frombuffer(stored, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)  # BF16
            tensors |= {name.removesuffix("weight") + part: value for part, value in PACKINGS[packing][0](weight).items()}
    names = sorted(tensors)
    files, places = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"], {}
    for number, file in enumerate(files):
        shard = {name: tensors[name] for name in names[number::2]}
        write_safetensors(out / file, shard)
        places |= {name: file for name in shard}
    (out / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def tokenizer_of(reader: gguf.GGUFReader) -> dict:
    tokens = field(reader, "tokenizer.ggml.tokens")
    kinds = field(reader, "tokenizer.ggml.token_type")
    return {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
        "decoder": {"type": "ByteLevel"},
        "added_tokens": [{"id": i, "content": tokens[i], "special": True, "normalized": False}
                         for i, kind in enumerate(kinds) if kind == gguf.TokenType.CONTROL],
        "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)},
                  "merges": [merge.split(" ") for merge in field(reader, "tokenizer.ggml.merges")]},
    }


def write_directory(out: Path, template_in: str = "tokenizer_config.json", ends: tuple[int, ...] = (2, 0),
                    packing: str = "") -> Path:
    """`template_in`: the chat template's place: "tokenizer_config.json", "chat_template.jinja", or "list". `packing`: one of PACKINGS."""
    out.mkdir(parents=True)
    reader = gguf.GGUFReader(MODEL)
    tokens = field(reader, "tokenizer.ggml.tokens")
    template = field(reader, "tokenizer.chat_template")
    tokenizer_config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": tokens[0], "add_bos_token": False,
                        "eos_token": {"content": tokens[2], "lstrip": False}}
    if template_in == "chat_template.jinja":
        (out / "chat_template.jinja").write_text(template)
    elif template_in == "list":
        tokenizer_config["chat_template"] = [{"name": "tool_use", "template": "never"}, {"name": "default", "template": template}]
    else:
        tokenizer_config["chat_template"] = template
    files = {
        "config.json": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "vocab_size": len(tokens),
            "hidden_size": field(reader, "llama.embedding_length"), "num_hidden_layers": field(reader, "llama.block_count"),
            "intermediate_size": field(reader, "llama.feed_forward_length"),
            "num_attention_heads": field(reader, "llama.attention.head_count"),
            "num_key_value_heads": field(reader, "llama.attention.head_count_kv"),
            "head_dim": field(reader, "llama.attention.key_length"),
            "max_position_embeddings": field(reader, "llama.context_length"),
            "rms_norm_eps": float(field(reader, "llama.attention.layer_norm_rms_epsilon")),
            "rope_theta": float(field(reader, "llama.rope.freq_base")),
            "tie_word_embeddings": True, "bos_token_id": 0, "eos_token_id": 2, "torch_dtype": "bfloat16"},
        "generation_config.json": {"eos_token_id": list(ends)},
        "tokenizer_config.json": tokenizer_config,
        "tokenizer.json": tokenizer_of(reader),
    }
    if packing:
        files["config.json"]["quantization_config"] = PACKINGS[packing][1]
    for name, value in files.items():
        (out / name).write_text(json.dumps(value, ensure_ascii=False))
    write_weights(reader, out, packing)
    return out
