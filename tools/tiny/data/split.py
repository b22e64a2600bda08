"""What may be trained on and what is kept for judging: phrasings and value combinations."""

import zlib
from random import Random

TRAIN = "train"
HELD_OUT = "held_out"
SPLITS = (TRAIN, HELD_OUT)


class Phrases:
    """Two disjoint lists of templates; `pick` draws from the list of the given split."""

    def __init__(self, train: list[str], held_out: list[str]):
        overlap = set(train) & set(held_out)
        if overlap:
            raise ValueError(f"phrasings are in both splits: {sorted(overlap)}")
        self._lists = {TRAIN: train, HELD_OUT: held_out}

    def of(self, split: str) -> list[str]:
        return self._lists[split]

    def pick(self, rng: Random, split: str) -> str:
        return rng.choice(self._lists[split])


def is_held_out(*values: object, one_in: int = 8) -> bool:
    """A fixed one-in-n choice by content, so that data of any seed keeps the same values apart."""
    return zlib.crc32("|".join(map(str, values)).encode()) % one_in == 0


def mostly_first(rng: Random, options: list):
    """The usual option two times in three, else one of the others."""
    return options[0] if len(options) == 1 or rng.random() < 0.67 else rng.choice(options[1:])


def draw(rng: Random, split: str, make, key):
    """Draws `make(rng)` until `key(value)` falls on this split's side."""
    while True:
        value = make(rng)
        if is_held_out(*key(value)) == (split == HELD_OUT):
            return value
