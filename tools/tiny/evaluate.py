"""Held-out accuracy a task: unseen phrasings and unseen values, generated greedily, judged by rule."""

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer

from .chatml import END, prompt, said
from .config import SHAPES
from .data.chat import conversations
from .data.judge import is_right
from .data.split import HELD_OUT
from .generate import greedy
from .model import TinyLlama

SEED = 20_000
# What everyone asks first; in none of the splits' counts.
SHOWN = ["What is the capital of France?", "What is 2+2?", "Who are you?", "Tell me a story about a dragon.",
         "Say this exactly: the quick brown fox jumps"]


@dataclass
class Question:
    task: str
    prompt: str
    answer: str  # the data maker's own
    rule: str
    expect: list[str]


def questions(count: int) -> dict[str, list[Question]]:
    """Up to `count` questions a task."""
    found = defaultdict(list)
    for number, conversation in enumerate(conversations(SEED, HELD_OUT)):
        for index, rule, expect, task in conversation.judged:
            if len(found[task]) < count:
                message = conversation.messages[index]
                answer = said(message)[message.get("given", 0) :]
                found[task].append(Question(task, prompt(conversation, index), answer, rule, expect))
        if number > 50 * count or (number > 20 * count and all(len(v) == count for v in found.values())):
            return dict(found)


def load(path: Path) -> TinyLlama:
    saved = torch.load(path, map_location="cpu", weights_only=True)
    model = TinyLlama(SHAPES[saved["shape"]])
    model.load_state_dict(saved["model"])
    # What is shipped is BF16, so that is what is judged.
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16().float()
    return model.eval()


def answers(model: TinyLlama, words: Tokenizer, prompts: list[str], rows: int = 32, limit: int = 72) -> list[str]:
    by_length = defaultdict(list)
    for number, text in enumerate(prompts):
        ids = words.encode(text, add_special_tokens=False).ids
        by_length[len(ids)].append((number, ids))
    texts = [""] * len(prompts)
    for items in by_length.values():
        for start in range(0, len(items), rows):
            part = items[start : start + rows]
            for (number, _), ids in zip(part, greedy(model, [ids for _, ids in part], limit)):
                texts[number] = words.decode(ids)
    return texts


@torch.no_grad()
def would_say(model: TinyLlama, words: Tokenizer, question: Question) -> bool:
    """Whether greedy generation gives the maker's answer to the letter: one pass tells, without generating."""
    asked = words.encode(question.prompt, add_special_tokens=False).ids
    answer = words.encode(question.answer + END, add_special_tokens=False).ids
    tokens = torch.tensor(asked + answer[:-1])
    hidden = model.hidden(tokens, torch.arange(len(tokens)), [(1, len(tokens))])[len(asked) - 1 :]
    return bool((model.logits(hidden).argmax(dim=-1) == torch.tensor(answer)).all())


def evaluate(model: TinyLlama, words: Tokenizer, count: int, show: int = 0) -> dict[str, float]:
    sets = questions(count)
    others = [q for items in sets.values() for q in items if not would_say(model, words, q)]
    wrong = defaultdict(list)
    for question, answer in zip(others, answers(model, words, [q.prompt for q in others])):
        if not is_right(question.rule, question.expect, answer):
            wrong[question.task].append((question, answer))
    for task, items in wrong.items():
        for question, answer in items[:show]:
            print(f"--- {task}\n...{question.prompt[-300:]}\n>>> {answer!r}\nexpected {question.expect}")
    return {task: 1 - len(wrong[task]) / len(items) for task, items in sorted(sets.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=list(SHAPES), default="tiny")
    parser.add_argument("--work", default="build/tiny")
    parser.add_argument("--count", type=int, default=100, help="questions a task")
    parser.add_argument("--show", type=int, default=0, help="wrong answers to print, a task")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    work = Path(args.work)
    words = Tokenizer.from_file(str(work / "tokenizer.json"))
    model = load(work / f"{args.model}.pt")
    scores = evaluate(model, words, args.count, args.show)
    (work / f"{args.model}.scores.json").write_text(json.dumps({"count": args.count, "scores": scores}, indent=1) + "\n")
    for task, score in scores.items():
        print(f"{task:18} {100 * score:5.1f}%")
    for text in SHOWN:
        print(f"{text} -> {answers(model, words, [f'<|im_start|>user{chr(10)}{text}<|im_end|>{chr(10)}<|im_start|>assistant{chr(10)}'])[0]}")


if __name__ == "__main__":
    main()
