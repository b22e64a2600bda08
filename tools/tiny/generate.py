"""Greedy generation with a key-value cache, many prompts of like length at once."""

import torch
from torch import Tensor

from .model import TinyLlama

END_ID = 2


class Cache:
    """Keys and values seen so far of each attention, [rows, kv_heads, tokens, head_size]."""

    def __init__(self):
        self._seen: dict[int, tuple[Tensor, Tensor]] = {}

    def append(self, key: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if key in self._seen:
            k, v = torch.cat((self._seen[key][0], k), dim=2), torch.cat((self._seen[key][1], v), dim=2)
        self._seen[key] = k, v
        return k, v


@torch.no_grad()
def greedy(model: TinyLlama, prompts: list[list[int]], limit: int = 120) -> list[list[int]]:
    """Prompts must be of one length. Rows that have ended keep running until all have; their tail is cut."""
    rows, length = len(prompts), len(prompts[0])
    if any(len(prompt) != length for prompt in prompts):
        raise ValueError("prompts of one call must be equally long")
    cache, outputs, tokens = Cache(), [[] for _ in prompts], torch.tensor(prompts).flatten()
    positions, step, live = torch.arange(length).repeat(rows), length, set(range(rows))
    for _ in range(min(limit, model.shape.context - length)):
        hidden = model.hidden(tokens, positions, [(rows, step)], cache).view(rows, step, -1)[:, -1]
        tokens = model.logits(hidden).argmax(dim=-1)
        for row in list(live):
            if tokens[row] == END_ID:
                live.discard(row)
            else:
                outputs[row].append(int(tokens[row]))
        if not live:
            break
        length, step = length + 1, 1
        positions = torch.full((rows,), length - 1)
    return outputs
