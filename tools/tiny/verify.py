"""Checks an exported pair of files with transformers alone: logits, token ids and prompts of GGUF and folder are ours."""

import argparse
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from .chatml import prompt
from .config import FILES, SHAPES
from .data.chat import conversations
from .data.split import HELD_OUT
from .evaluate import load

TOLERANCE = 1e-4


@torch.no_grad()
def worst(model, other, ids: list[list[int]]) -> float:
    """The largest relative difference of logits, over all positions."""
    result = 0.0
    for row in ids:
        tokens = torch.tensor(row)
        ours = model.logits(model.hidden(tokens, torch.arange(len(row)), [(1, len(row))]))
        theirs = other(tokens[None]).logits[0]
        result = max(result, ((ours - theirs).norm(dim=1) / ours.norm(dim=1)).max().item())
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=list(SHAPES), default="tiny")
    parser.add_argument("--work", default="build/tiny")
    parser.add_argument("--gguf", default="models/tiny")
    parser.add_argument("--hf", help="folder that export_hf wrote")
    args = parser.parse_args()
    torch.set_num_threads(1)
    words = Tokenizer.from_file(str(Path(args.work) / "tokenizer.json"))
    model = load(Path(args.work) / f"{args.model}.pt")
    asked = [c for c in islice(conversations(99, HELD_OUT), 30) if c.raw is None and "given" not in c.messages[c.judged[-1][0]]]
    texts = [prompt(c, c.judged[-1][0]) for c in asked]
    ids = [words.encode(text, add_special_tokens=False).ids for text in texts]
    sources = {"GGUF": {"pretrained_model_name_or_path": args.gguf, "gguf_file": FILES[args.model]}}
    if args.hf:
        sources["folder"] = {"pretrained_model_name_or_path": args.hf}
    for name, source in sources.items():
        error = worst(model, AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32).eval(), ids)
        print(f"{name}: largest relative difference of logits {error:.2e}")
        if error > TOLERANCE:
            raise SystemExit(f"{name}: above {TOLERANCE}")
        theirs = AutoTokenizer.from_pretrained(**source)
        for conversation, text, row in zip(asked, texts, ids):
            said = theirs.apply_chat_template(conversation.messages[: conversation.judged[-1][0]], tools=conversation.tools,
                                              add_generation_prompt=True, tokenize=False)
            if said != text:
                raise SystemExit(f"{name}: the template renders {said!r}, not {text!r}")
            if theirs(text, add_special_tokens=False)["input_ids"] != row:
                raise SystemExit(f"{name}: {text!r} has other token ids")
        print(f"{name}: token ids and prompts of {len(ids)} conversations are equal")


if __name__ == "__main__":
    main()
