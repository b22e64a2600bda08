"""How often the draft model would guess the model's next token: over the model's own greedy answers, a task."""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import torch
from tokenizers import Tokenizer

from .evaluate import load, questions
from .generate import END_ID, greedy


@torch.no_grad()
def agreement(model, draft, words: Tokenizer, count: int) -> dict[str, tuple[int, int]]:
    """Tokens that the draft model guesses, and all tokens, of each task."""
    found = defaultdict(lambda: (0, 0))
    for task, items in questions(count).items():
        for question in items:
            asked = words.encode(question.prompt, add_special_tokens=False).ids
            tokens = asked + greedy(model, [asked], 72)[0] + [END_ID]
            ids = torch.tensor(tokens[:-1])
            hidden = draft.hidden(ids, torch.arange(len(ids)), [(1, len(ids))])[len(asked) - 1 :]
            hits = int((draft.logits(hidden).argmax(dim=-1) == torch.tensor(tokens[len(asked) :])).sum())
            found[task] = found[task][0] + hits, found[task][1] + len(tokens) - len(asked)
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=Path("build/tiny/tiny.pt"))
    parser.add_argument("--draft", type=Path, default=Path("build/tiny/draft.pt"))
    parser.add_argument("--count", type=int, default=20, help="questions a task")
    args = parser.parse_args()
    torch.set_num_threads(1)
    words = Tokenizer.from_file(str(args.model.parent / "tokenizer.json"))
    found = agreement(load(args.model), load(args.draft), words, args.count)
    for task, (hits, of) in found.items():
        print(f"{task:20} {100 * hits / of:5.1f}% of {of}")
    hits, of = (sum(part) for part in zip(*found.values()))
    print(f"{'all':20} {100 * hits / of:5.1f}% of {of}")
    (args.draft.parent / "draft.agreement.json").write_text(json.dumps({"hits": hits, "of": of}) + "\n")


if __name__ == "__main__":
    main()
