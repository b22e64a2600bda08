"""Asks for every held-out sum of numbers up to 20 through each of DSPy's adapters, and inside a forced JSON schema."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer

from .chatml import prompt
from .data import held_out_sums
from .data.adapters import ADAPTERS, Field, assistant, messages, signature
from .data.exchange import Conversation
from .evaluate import answers, load

FORMS = [(adapter, kind) for adapter in ADAPTERS for kind in ("int", "str")] + [("schema", "int")]


@dataclass
class Sum:
    a: int
    b: int
    prompt: str
    answer: str


def pairs(key: str = "pairs") -> list[tuple[int, int]]:
    """Both orders."""
    return sorted({order for a, b in held_out_sums.listed(key) for order in ((a, b), (b, a))})


def asked(adapter: str, kind: str, a: int, b: int) -> Sum:
    question = f"What is {a}+{b}?"
    if adapter == "schema":
        return Sum(a, b, prompt_of([{"role": "user", "content": question}]) + '{"answer":', f" {a + b}}}")
    s = signature([Field("question")], [Field("answer", kind)])
    value = a + b if kind == "int" else str(a + b)
    return Sum(a, b, prompt_of(messages(adapter, s, [], {"question": question})), assistant(adapter, s, {"answer": value}, False))


def prompt_of(turns: list[dict]) -> str:
    return prompt(Conversation([*turns, {"role": "assistant", "content": ""}]), len(turns))


def right(model, words: Tokenizer, adapter: str, kind: str, which: list[tuple[int, int]]) -> Iterator[tuple[Sum, str, bool]]:
    items = [asked(adapter, kind, a, b) for a, b in which]
    for item, text in zip(items, answers(model, words, [item.prompt for item in items], rows=128, limit=40)):
        yield item, text, text.strip() == item.answer.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--work", default="build/tiny")
    parser.add_argument("--show", type=int, default=0, help="wrong answers to print, an adapter and type")
    args = parser.parse_args()
    torch.set_num_threads(1)
    work = Path(args.work)
    words = Tokenizer.from_file(str(work / "tokenizer.json"))
    model = load(work / f"{args.model}.pt")
    never, rows = set(pairs("never_trained")), []
    for adapter, kind in FORMS:
        found = list(right(model, words, adapter, kind, [*pairs(), (2, 2)]))
        four, found = found[-1], found[:-1]
        share = sum(ok for _, _, ok in found) / len(found)
        strict = [ok for item, _, ok in found if (item.a, item.b) in never]
        rows.append({"adapter": adapter, "type": kind, "held_out": len(found), "right": round(share, 4), "never_trained": len(strict),
                     "right_of_these": round(sum(strict) / len(strict), 4), "2+2": four[1]})
        print(json.dumps(rows[-1]), flush=True)
        for item, text, _ in [one for one in found if not one[2]][: args.show]:
            print(f"  {item.a}+{item.b}: {text!r}")
    (work / f"{args.model}.sums.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
