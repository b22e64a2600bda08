"""The sums of two numbers from 0 to 20 that no training text may hold: a fifth of the pairs, in either order.

`held_out_sums.json` lists them. The weights that a training starts from may have seen some of them, so the file also says which
were already held out when the first weights were trained (one pair in ten, and none of two single digits).
"""

import json
from functools import cache
from pathlib import Path
from random import Random

from .split import is_held_out

MOST = 20
SHARE = 0.2
SEED = 20261124
FILE = Path(__file__).with_name("held_out_sums.json")


def held_out_before(a: int, b: int) -> bool:
    """The rule of the first training, which still holds for larger numbers."""
    return not (a < 10 and b < 10) and is_held_out("+", *sorted((a, b)), one_in=10)


def choose() -> dict:
    pairs = [(a, b) for b in range(MOST + 1) for a in range(b + 1)]
    never = [pair for pair in pairs if held_out_before(*pair)]
    others = [pair for pair in pairs if not held_out_before(*pair)]
    more = Random(SEED).sample(others, round(SHARE * len(pairs)) - len(never))
    return {"seed": SEED, "of": len(pairs), "pairs": [list(p) for p in sorted(never + more)], "never_trained": [list(p) for p in never]}


@cache
def listed(key: str = "pairs") -> frozenset[tuple[int, int]]:
    """The file's `pairs`, or of these the `never_trained`, with the smaller number first."""
    return frozenset(tuple(pair) for pair in json.loads(FILE.read_text())[key])


def contains(a: int, b: int) -> bool:
    return (min(a, b), max(a, b)) in listed()


if __name__ == "__main__":
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in choose().items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
