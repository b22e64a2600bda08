"""Turns conversations into flat batches: rows of like length side by side, so that little is padded."""

from dataclasses import dataclass
from random import Random

import torch
from tokenizers import Tokenizer
from torch import Tensor

from .chatml import segments
from .data.chat import conversations
from .data.exchange import Conversation
from .data.split import TRAIN

LONGEST = 1024
_POOL = 512


@dataclass
class Batch:
    tokens: Tensor  # [n], rows of each group one after the other
    positions: Tensor  # [n], each row counts from 0
    groups: list[tuple[int, int]]  # (rows, length)
    learned: Tensor  # [m], indices into tokens of the positions that predict an assistant's token
    targets: Tensor  # [m]
    used: int  # tokens that are not padding


def encode(tokenizer: Tokenizer, items: list[Conversation]) -> list[tuple[list[int], list[bool]]]:
    pieces = [segments(item) for item in items]
    encoded = iter(tokenizer.encode_batch([text for piece in pieces for text, _ in piece], add_special_tokens=False))
    rows = []
    for piece in pieces:
        ids, marks = [], []
        for _, learned in piece:
            part = next(encoded).ids
            ids += part
            marks += [learned] * len(part)
        rows.append((ids, marks))
    return rows


def collate(rows: list[tuple[list[int], list[bool]]]) -> Batch:
    rows = sorted(rows, key=lambda row: len(row[0]))
    groups, group = [], []
    for row in rows:
        if group and len(row[0]) > 1.12 * len(group[0][0]) + 4:
            groups.append(group)
            group = []
        group.append(row)
    groups.append(group)
    tokens, positions, learned, targets, shapes = [], [], [], [], []
    for group in groups:
        length = len(group[-1][0]) - 1
        shapes.append((len(group), length))
        for ids, marks in group:
            start = len(tokens)
            tokens += ids[:-1] + [0] * (length - len(ids) + 1)
            positions += range(length)
            for i in range(1, len(ids)):
                if marks[i]:
                    learned.append(start + i - 1)
                    targets.append(ids[i])
    used = sum(len(ids) for ids, _ in rows)
    return Batch(torch.tensor(tokens), torch.tensor(positions), shapes, torch.tensor(learned), torch.tensor(targets), used)


def pool(tokenizer: Tokenizer, seed: int, number: int, budget: int, long_share: float) -> list[Batch]:
    """Batches of about `budget` tokens from the `number`th pool of conversations; the same for the same arguments."""
    stream = conversations(seed * 1_000_003 + number, TRAIN, long_share)
    rows = [row for row in encode(tokenizer, [next(stream) for _ in range(_POOL)]) if len(row[0]) <= LONGEST]
    Random(number).shuffle(rows)
    batches, current, size = [], [], 0
    for row in rows:
        current.append(row)
        size += len(row[0])
        if size >= budget:
            batches.append(collate(current))
            current, size = [], 0
    return batches
