"""Writes a checkpoint as GGUF: BF16 matrices, F32 norms, the tokeniser and the chat template."""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
from tokenizers import Tokenizer

from .chatml import SPECIAL, TEMPLATE
from .config import FILES, NAMES, SHAPES, Shape
from .evaluate import load
from .model import TinyLlama
from .tokenizer import PRE

_BF16 = gguf.GGMLQuantizationType.BF16
LAYER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """GGUF's llama rotates neighbouring rows of a head, transformers its two halves: rows are reordered to match."""
    rows = weight.shape[0]
    return weight.reshape(heads, 2, rows // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def tensors(model: TinyLlama):
    """GGUF's names and float32 values, in the order of the forward pass."""
    state = {name: value.detach().float().numpy() for name, value in model.state_dict().items()}
    yield "token_embd.weight", state["model.embed_tokens.weight"]
    for layer in range(model.shape.layers):
        for ours, theirs in LAYER.items():
            value = state[f"model.layers.{layer}.{ours}.weight"]
            if ours.endswith("q_proj"):
                value = interleaved(value, model.shape.heads)
            elif ours.endswith("k_proj"):
                value = interleaved(value, model.shape.kv_heads)
            yield f"blk.{layer}.{theirs}.weight", value
    yield "output_norm.weight", state["model.norm.weight"]


def _describe(writer: gguf.GGUFWriter, name: str, shape: Shape) -> None:
    writer.add_type("model")
    writer.add_name(name)
    writer.add_description("The embedded model of InferFlux, trained from nothing on synthetic conversations")
    writer.add_license("apache-2.0")
    writer.add_languages(["en"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_size)
    writer.add_value_length(shape.head_size)
    writer.add_rope_dimension_count(shape.head_size)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)


def _add_tokenizer(writer: gguf.GGUFWriter, path: Path) -> None:
    words = Tokenizer.from_file(str(path))
    tokens = [words.id_to_token(i) for i in range(words.get_vocab_size())]
    merges = [m if isinstance(m, str) else " ".join(m) for m in json.loads(path.read_text())["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE)
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in tokens])
    writer.add_token_merges(merges)
    bos, _, end = range(3)
    writer.add_bos_token_id(bos)
    writer.add_eos_token_id(end)
    writer.add_eot_token_id(end)
    writer.add_pad_token_id(bos)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(TEMPLATE)


def write(model: TinyLlama, tokenizer: Path, name: str, path: Path) -> None:
    partial = path.with_suffix(".partial")
    writer = gguf.GGUFWriter(partial, "llama")
    _describe(writer, name, model.shape)
    _add_tokenizer(writer, tokenizer)
    for tensor, value in tensors(model):
        if value.ndim == 1:
            writer.add_tensor(tensor, np.ascontiguousarray(value))
        else:
            writer.add_tensor(tensor, gguf.quants.quantize(np.ascontiguousarray(value), _BF16), raw_dtype=_BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=list(SHAPES), default="tiny")
    parser.add_argument("--work", default="build/tiny")
    parser.add_argument("--out", default="models/tiny", help="folder of the GGUF file")
    args = parser.parse_args()
    work, out = Path(args.work), Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / FILES[args.model]
    write(load(work / f"{args.model}.pt"), work / "tokenizer.json", NAMES[args.model], path)
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
