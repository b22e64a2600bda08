"""Writes the model card from the checkpoints and the scores that evaluate.py measured."""

import argparse
import json
from pathlib import Path

import torch

from .config import FILES, SHAPES
from .evaluate import load

TASKS = {
    "identity": "who it is, what InferFlux is", "small_talk": "greetings, thanks, what it does not know",
    "arithmetic": "sums and differences up to 99, unseen pairs", "capitals": "capitals of 60 countries", "opposites": "opposites",
    "plurals": "plurals", "sentiment": "positive or negative, unseen reviews", "repeat": "repeats a phrase exactly, unseen words",
    "extract": "name and age as JSON, unseen names",
    "story": "a story of exactly three sentences about the wanted hero", "memory": "the user's name, some turns later",
    "tool_call": "calls the right one of the offered tools, unseen arguments", "tool_answer": "answers from the tool's result",
    "tool_not_needed": "answers directly where no offered tool fits", "dspy": "DSPy's field markers",
    "dspy_reasoning": "DSPy's field markers with a reasoning field", "dspy_chat": "typed fields through ChatAdapter",
    "dspy_json": "the same through JSONAdapter", "dspy_plain": "the same through LlamaCppAdapter",
    "dspy_again": "a second try, after an answer that the program could not read",
    "few_shot_labels": "labels that only demonstrations reveal, most of them never trained", "few_shot_forms": "an answer written as in the demonstrations",
    "few_shot_word_tasks": "does to a word what the demonstrations do", "schema": "the value after a JSON member's name that a schema forces", "style_one_word": "obeys \"answer in one word\"",
    "style_upper": "obeys \"answer in upper case\"", "style_sentence": "obeys \"answer in one sentence\"",
}
_TEXT = """# InferFlux Tiny

The chat model that InferFlux carries, so that everything it does can be shown on a model that really answers; and a draft of it
with the same tokeniser, for speculative decoding. Both were trained from nothing by the steps of `tools/tiny/train.sh` on synthetic conversations
that this project makes itself; no outside text and no other model took part. Apache-2.0, like the project.

It knows a handful of skills (below), in English, and nothing else: treat every other answer as noise.

{architecture}

Common to both: Llama architecture, hidden size {hidden}, feed-forward {feed_forward}, {heads} heads of size {head_size} on {kv_heads} key-value heads,
tied embeddings, RoPE base {rope_base:.0f}, context {context} (trained on texts up to 1,024 tokens), byte-level BPE of {vocabulary} tokens
(`tokenizer.ggml.pre` is `qwen2`), ChatML template with tools in the Hermes/Qwen form, ended by `<|im_end|>`. Weights are BF16, norms F32.

## Held-out scores
Greedy answers of the shipped BF16 weights; phrasings that were never trained and, where the task has values, values that were never
trained. {count} questions a task at most (fewer for the rare ones); a question is right or wrong by a fixed rule (`tools/tiny/data/judge.py`).
Turns come as the data maker mixes them: alone and within conversations of up to ten turns, with and without a system prompt. The aim was
95% a task; where a score is below, the training time was over first. The column `before` has the first training's weights, on the same questions.

{scores}

The draft model guesses {agreed} of the tokens of the model's own answers to such questions (`tools/tiny/agreement.py`).

## Held-out sums
A fifth of the pairs of numbers from 0 to 20 is held out (`tools/tiny/data/held_out_sums.json`): no text of the further training holds their sum.
The first training did not know this list, so it had taught some of them in chat; `never` are those that it held out too. The
question is "What is 2+2?", asked in both orders of a pair; `schema` is a JSON schema on the plain question.

{sums}

## How it was trained
First by `tools/tiny/train.sh`, seed 1: Muon and AdamW, bf16 autocast on the CPU, learning rate level and then falling to zero, in two parts: about
3,000 tokens a step until the rate was at zero, then, with wider phrasings and the data's mix weighed towards what it knew least, on from
there with the rate at its peak again, about 6,000 tokens a step: 6,071 steps, 23.9 million tokens, 213 minutes. The draft had 2,228
steps of the first part, 7.1 million tokens. Then further from these weights, as `tools/tiny/further.sh` does, seed {seed}, at half of the peak: DSPy's
adapters, demonstrations, JSON schemas and all earlier tasks (the table below). The two-core machine was shared with compilers for the whole time,
and the mix was changed with an eye on held-out scores (other questions, the same lists of held-out phrasings), twice within the
further training. So a run today gives other weights than these; `tools/tiny/README.md` says how to make them.

{training}
"""


def _table(head: list[str], rows: list[list]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", default="build/tiny")
    parser.add_argument("--out", default="models/tiny")
    parser.add_argument("--before", type=Path, help="scores that evaluate.py measured with the weights from which the training went on")
    args = parser.parse_args()
    work, out = Path(args.work), Path(args.out)
    architecture, training = [], []
    for name, shape in SHAPES.items():
        saved = torch.load(work / f"{name}.pt", map_location="cpu", weights_only=True)
        state, seed = saved["state"], saved["seed"]
        parameters = sum(p.numel() for p in load(work / f"{name}.pt").parameters())
        architecture.append([f"`{FILES[name]}`", shape.layers, f"{parameters:,}", f"{(out / FILES[name]).stat().st_size / 1e6:.1f} MB"])
        training.append([f"`{FILES[name]}`", f"{state['step']:,}", f"{state['tokens'] / 1e6:.1f} million", f"{state['seconds'] / 60:.0f} minutes"])
    measured = json.loads((work / "tiny.scores.json").read_text())
    agreement = json.loads((work / "draft.agreement.json").read_text())
    columns = {"model": measured["scores"]}
    if args.before:
        columns["before"] = json.loads(args.before.read_text())["scores"]
    rows = [[task, what, *(f"{100 * column[task]:.1f}%" for column in columns.values())] for task, what in TASKS.items()]
    sums = [[row["adapter"], row["type"], f"{100 * row['right']:.1f}% of {row['held_out']}", f"{100 * row['right_of_these']:.1f}% of {row['never_trained']}",
             "`" + row["2+2"].strip().replace("\n", " ") + "`"] for row in json.loads((work / "tiny.sums.json").read_text())]
    (out / "README.md").write_text(_TEXT.format(
        **vars(SHAPES["tiny"]), count=measured["count"], seed=seed, agreed=f"{100 * agreement['hits'] / agreement['of']:.0f}%",
        architecture=_table(["file", "layers", "parameters", "size"], architecture),
        scores=_table(["task", "what", *columns], rows), sums=_table(["form", "type", "held out", "never", "2+2"], sums),
        training=_table(["file", "steps", "tokens seen", "wall time"], training)))


if __name__ == "__main__":
    main()
