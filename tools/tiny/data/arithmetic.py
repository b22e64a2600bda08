"""Sums and differences of numbers up to 99."""

from random import Random

from . import held_out_sums
from .exchange import Exchange
from .split import HELD_OUT, Phrases, is_held_out

SUMS = Phrases(
    train=[
        "What is {a}+{b}?", "What is {a} + {b}?", "{a}+{b}", "{a} + {b}", "{a} + {b} =", "{a}+{b}=?", "{a} + {b} = ?",
        "How much is {a} plus {b}?", "What is {a} plus {b}?", "Add {a} and {b}.", "Compute {a} + {b}.",
        "Calculate {a}+{b}.", "What is the sum of {a} and {b}?", "Please add {b} to {a}.", "Tell me {a} + {b}.",
        "What do you get when you add {a} and {b}?", "Can you add {a} and {b}?", "What's {a}+{b}?", "What's {a} plus {b}?",
        "How much is {a}+{b}?", "Give me the sum of {a} and {b}.", "If I have {a} apples and get {b} more, how many do I have?",
        "Solve {a} + {b}.", "What does {a} + {b} equal?", "I need the result of {a} plus {b}.", "{a} plus {b}",
    ],
    held_out=[
        "Could you tell me what {a} + {b} is?", "How much do {a} and {b} make together?", "What is the result of {a}+{b}?",
        "Work out {a} plus {b}.", "Please calculate {a} + {b}.", "What's the sum of {a} and {b}?", "{a} plus {b} is what?",
        "Find {a} + {b}.",
    ],
)
DIFFERENCES = Phrases(
    train=[
        "What is {a}-{b}?", "What is {a} - {b}?", "{a}-{b}", "{a} - {b}", "{a} - {b} =", "{a}-{b}=?", "{a} - {b} = ?",
        "How much is {a} minus {b}?", "What is {a} minus {b}?", "Subtract {b} from {a}.", "Compute {a} - {b}.",
        "Calculate {a}-{b}.", "What is the difference between {a} and {b}?", "Please take {b} from {a}.",
        "Tell me {a} - {b}.", "What do you get when you subtract {b} from {a}?", "Can you subtract {b} from {a}?",
        "What's {a}-{b}?", "What's {a} minus {b}?", "How much is {a}-{b}?", "Give me {a} minus {b}.",
        "If I have {a} apples and give away {b}, how many are left?", "Solve {a} - {b}.", "What does {a} - {b} equal?",
        "I need the result of {a} minus {b}.", "{a} minus {b}",
    ],
    held_out=[
        "Could you tell me what {a} - {b} is?", "How much is left when you take {b} from {a}?",
        "What is the result of {a}-{b}?", "Work out {a} minus {b}.", "Please calculate {a} - {b}.",
        "What's the difference between {a} and {b}?", "{a} minus {b} is what?", "Find {a} - {b}.",
    ],
)


def held_out_pair(a: int, b: int, sign: str) -> bool:
    """Sums of small numbers are listed. Other single-digit pairs are always trained: they are few, and everyone asks them."""
    if sign == "+" and max(a, b) <= held_out_sums.MOST:
        return held_out_sums.contains(a, b)
    if a < 10 and b < 10:
        return False
    return is_held_out(sign, *(sorted((a, b)) if sign == "+" else (a, b)), one_in=10)


def _operands(rng: Random, sign: str) -> tuple[int, int]:
    kind = rng.random()
    if kind < 0.12:
        a, b = rng.randint(0, 10), rng.randint(0, 10)
    elif kind < 0.92 and sign == "+":
        a = rng.randint(0, 99)
        b = rng.randint(0, 99 - a)
    else:
        a, b = rng.randint(0, 99), rng.randint(0, 99)
    if sign == "-" and a < b and rng.random() < 0.98:
        a, b = b, a
    return a, b


def make(rng: Random, split: str, small: bool = False) -> Exchange:
    """With `small` it is a sum of numbers up to 20."""
    sign = "+" if small else rng.choice("+-")
    while True:
        a, b = (rng.randint(0, held_out_sums.MOST) for _ in range(2)) if small else _operands(rng, sign)
        if split == HELD_OUT:
            in_scope = a + b <= 99 if sign == "+" else a >= b
            if in_scope and held_out_pair(a, b, sign):
                break
        elif not held_out_pair(a, b, sign):
            break
    result = a + b if sign == "+" else a - b
    phrase = (SUMS if sign == "+" else DIFFERENCES).pick(rng, split)
    equation = f"{a} {sign} {b} = {result}"
    verb = f"add {a} and {b}" if sign == "+" else f"subtract {b} from {a}"
    return Exchange("arithmetic", phrase.format(a=a, b=b), equation + ".", str(result), f"We {verb}: {equation}.", "exact")
