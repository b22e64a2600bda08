"""Reads a file that export_gguf wrote back: the weights, and the tokeniser's file. So a training goes on from what was shipped."""

from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import AddedToken

from .chatml import SPECIAL
from .export_gguf import LAYER
from .model import TinyLlama
from .tokenizer import untrained


def halves(weight: np.ndarray, heads: int) -> np.ndarray:
    """GGUF's order of a head's rows back to that of transformers (export_gguf.interleaved)."""
    rows = weight.shape[0]
    return weight.reshape(heads, rows // heads // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def load_weights(model: TinyLlama, path: Path) -> None:
    stored = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in gguf.GGUFReader(path).tensors}
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    for layer in range(model.shape.layers):
        names |= {f"model.layers.{layer}.{ours}.weight": f"blk.{layer}.{theirs}.weight" for ours, theirs in LAYER.items()}
    if set(names.values()) != set(stored):
        raise ValueError(f"{path} has other tensors than this model: {sorted(set(names.values()) ^ set(stored))[:4]}")
    heads = {"q_proj": model.shape.heads, "k_proj": model.shape.kv_heads}
    state = {}
    for ours, theirs in names.items():
        value = stored[theirs]
        part = ours.split(".")[-2]
        state[ours] = torch.tensor(halves(value, heads[part]) if part in heads else value)
    model.load_state_dict(state)


def save_tokenizer(gguf_path: Path, path: Path) -> None:
    fields = gguf.GGUFReader(gguf_path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    words = untrained({token: number for number, token in enumerate(tokens)}, merges)
    words.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in SPECIAL])
    if [words.id_to_token(i) for i in range(len(tokens))] != tokens:
        raise ValueError(f"{gguf_path}: the tokeniser has other token ids than its file")
    path.parent.mkdir(parents=True, exist_ok=True)
    words.save(str(path))
