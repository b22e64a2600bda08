"""Conversations in the prompts of DSPy's adapters: questions, demonstrations, earlier turns, and a second try."""

import json
from random import Random

from . import dspy_tasks, few_shot
from .adapters import ADAPTERS, COMPLETED, Field, Signature, assistant, messages, signature, system, user
from .dspy_tasks import OBJECTIVES, Task
from .exchange import Conversation, Exchange
from .identity import UNKNOWN_ANSWER
from .split import HELD_OUT, TRAIN

__all__ = ["COMPLETED", "OBJECTIVES", "make", "typed", "revealed", "again", "practice"]
_SHARES = [35, 35, 30]


def _judged(adapter: str, index: int, content: str, task: str) -> tuple[int, str, list[str], str]:
    return index, "json" if adapter == "json" else "exact", [content.strip()], task


def _conversation(adapter: str, s: Signature, demos: list[dict], asked: dict, task: str, unlearned: int = 0) -> Conversation:
    """`unlearned` demonstrations come before anyone can know the answers."""
    turns = messages(adapter, s, demos, asked) + [{"role": "assistant", "content": assistant(adapter, s, asked, False)}]
    for turn in [turn for turn in turns if turn["role"] == "assistant"][:unlearned]:
        turn["unlearned"] = True
    return Conversation(turns, None, [_judged(adapter, len(turns) - 1, turns[-1]["content"], task)])


def make(rng: Random, split: str, questions: list[Exchange]) -> Conversation:
    """ChatAdapter with `questions` of any kind: the last is asked; those before it, when there are any, are demonstrations."""
    asked = questions[-1]
    if asked.task == "sentiment" and rng.random() < 0.5:
        source, target = rng.choice([("text", "sentiment"), ("sentence", "sentiment"), ("review", "label")])
    else:
        source, target = rng.choice([("question", "answer")] * 16 + [("query", "response"), ("question", "result"), ("input", "output")])
    kind = "int" if asked.task == "arithmetic" and rng.random() < 0.2 else "str"
    reasoned = rng.random() < 0.4
    outputs = ([Field("reasoning")] if reasoned else []) + [Field(target, kind)]
    instructions = None if rng.random() < 0.7 else OBJECTIVES.pick(rng, split)

    def values(exchange: Exchange) -> dict:
        return {source: exchange.user, "reasoning": exchange.reason, target: exchange.short}

    return _conversation("chat", signature([Field(source)], outputs, instructions), [values(q) for q in questions[:-1]], values(asked),
                         "dspy_reasoning" if reasoned else "dspy")


def typed(rng: Random, split: str, task: Task | None = None, adapter: str | None = None) -> Conversation:
    """A task that its signature tells, with up to four demonstrations."""
    task = task or dspy_tasks.draw(rng, split)
    adapter = adapter or rng.choices(ADAPTERS, _SHARES)[0]
    count = 0 if split == HELD_OUT else rng.choice([0, 0, 1, 2, 3, 4])
    *demos, asked = [task.example(rng, split) for _ in range(count + 1)]
    return _conversation(adapter, task.signature, demos, asked, f"dspy_{adapter}")


def practice(rng: Random, split: str) -> Conversation:
    """Many requests on one signature, as `dspy.History` writes them: each turn is a call with its reminder. Mostly sums."""
    task = dspy_tasks.sums(rng, split, reasoned=rng.random() < 0.15) if rng.random() < 0.85 else dspy_tasks.draw(rng, split)
    adapter, s = rng.choices(ADAPTERS, [25, 25, 50])[0], task.signature
    turns, judged = [{"role": "system", "content": system(adapter, s)}], []
    # Plain turns are a third as long.
    for _ in range(1 if split == HELD_OUT else rng.randint(4, 16) if adapter == "plain" else rng.randint(2, 8)):
        values = task.example(rng, split)
        turns += [{"role": "user", "content": user(adapter, s, values, True)},
                  {"role": "assistant", "content": assistant(adapter, s, values, False)}]
        judged.append(_judged(adapter, len(turns) - 1, turns[-1]["content"], f"dspy_{adapter}"))
    return Conversation(turns, None, judged)


def revealed(rng: Random, split: str) -> Conversation:
    """A task that only the demonstrations tell."""
    few = few_shot.draw(rng, split)
    adapter = rng.choices(ADAPTERS, [25, 25, 50])[0]
    count = rng.choice([4, 6]) if split == HELD_OUT else rng.randint(3, 9)
    found, known = few_shot.examples(rng, split, few, count + 1)
    return _conversation(adapter, few.task.signature, found[:-1], found[-1], f"few_shot_{few.task.name}", min(known, count))


def _wrong(rng: Random, adapter: str, s: Signature, values: dict) -> tuple[str, str]:
    """An answer that does not parse, and what the program says about it."""
    typed_fields = [f for f in s.outputs if f.kind != "str"]
    junk = rng.choice([UNKNOWN_ANSWER, "Hello! How can I help you?", "You are welcome!", "Goodbye!", "none", "I do not know."])
    if len(s.outputs) > 1:
        lacking = ", ".join(f"'{f.name}' ({f.kind})" for f in s.outputs)
        return junk, f'the answer lacks {lacking}; it is "{junk}"'
    if not typed_fields:
        return "", f"the answer is empty, and the field '{s.outputs[0].name}' must be str"
    field = typed_fields[0]
    text = junk
    if rng.random() < 0.6:
        junk = rng.choice(["four", "many", "a lot", "unknown", "none", "maybe"])
        text = json.dumps({field.name: junk}, indent=2) if adapter == "json" else assistant(adapter, s, {**values, field.name: junk}, False)
    return text, f"the field '{field.name}' must be {field.kind}, and the answer has \"{junk}\""


def again(rng: Random, split: str) -> Conversation:
    """The program could not read the answer and says why (src/dspy/programs/generate_with_retry.cpp)."""
    task = dspy_tasks.draw(rng, split)
    adapter = rng.choices(ADAPTERS, _SHARES)[0]
    asked = task.example(rng, split)
    text, why = _wrong(rng, adapter, task.signature, asked)
    right = assistant(adapter, task.signature, asked, False)
    turns = messages(adapter, task.signature, [], asked) + [
        {"role": "assistant", "content": text, "unlearned": True},
        {"role": "user", "content": f"That answer could not be read: {why}. Answer again, in the form that was described."},
        {"role": "assistant", "content": right}]
    return Conversation(turns, None, [_judged(adapter, len(turns) - 1, right, "dspy_again")])
