"""Typed questions for DSPy's adapters: a signature, and as many examples of it as wanted."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from . import arithmetic, capitals, extract, sentiment, words
from .adapters import Field, Signature, signature
from .exchange import Exchange
from .split import Phrases

OBJECTIVES = Phrases(
    train=["Answer the question.", "Answer questions with short answers.", "Give a short answer.", "Answer with one word.", "You answer questions."],
    held_out=["Answer questions with short factoid answers.", "Give short answers to questions."],
)
_REASONING = Field("reasoning")


@dataclass
class Task:
    name: str
    signature: Signature
    # All fields of one example, with values of their types.
    example: Callable[[Random, str], dict]


def _asked(name: str, rng: Random, split: str, make, inputs: list[str], output: Field, convert=str, reasoned: bool | None = None) -> Task:
    """A question as `make` words it, and its short answer; in three of ten behind a reasoning field."""
    source = rng.choice(inputs)
    reasoned = rng.random() < 0.3 if reasoned is None else reasoned

    def example(rng: Random, split: str) -> dict:
        exchange: Exchange = make(rng, split)
        reason = {"reasoning": exchange.reason} if reasoned else {}
        return {source: exchange.user, **reason, output.name: convert(exchange.short)}

    outputs = [_REASONING, output] if reasoned else [output]
    objective = OBJECTIVES.pick(rng, split) if rng.random() < 0.25 else None
    return Task(name, signature([Field(source)], outputs, objective), example)


_QUESTIONS = ["question"] * 8 + ["query", "input", "problem"]
_ANSWERS = ["answer"] * 8 + ["response", "result", "output"]


def sums(rng: Random, split: str, reasoned: bool | None = None) -> Task:
    def make(rng: Random, split: str) -> Exchange:
        return arithmetic.make(rng, split, small=rng.random() < 0.8)

    kind = rng.choices(["int", "str", "float"], [50, 45, 5])[0]
    convert = {"int": int, "str": str, "float": float}[kind]
    name = rng.choice(_ANSWERS + ["sum", "number"]) if kind != "str" else rng.choice(_ANSWERS)
    return _asked("sums", rng, split, make, _QUESTIONS, Field(name, kind), convert, reasoned)


def facts(rng: Random, split: str) -> Task:
    def make(rng: Random, split: str) -> Exchange:
        return rng.choice([capitals.make, capitals.make, words.opposite, words.plural])(rng, split)

    return _asked("facts", rng, split, make, _QUESTIONS, Field(rng.choice(_ANSWERS)))


def lookups(rng: Random, split: str) -> Task:
    """The bare word as the input; the field's name says what is wanted."""
    source, target, table = rng.choice([
        ("country", "capital", list(capitals.CAPITALS.items())), ("capital", "country", [(c, k) for k, c in capitals.CAPITALS.items()]),
        ("word", "opposite", list(words.OPPOSITES.items())), ("word", "antonym", list(words.OPPOSITES.items())),
        ("word", "plural", list(words.PLURALS.items())), ("singular", "plural", list(words.PLURALS.items()))])
    if target == "plural" and rng.random() < 0.3:
        def several(rng: Random, split: str) -> dict:
            some = rng.sample(table, rng.randint(1, 3))
            return {"words": [one for one, _ in some], "plurals": [many for _, many in some]}

        return Task("lists", signature([Field("words", "list[str]")], [Field("plurals", "list[str]")]), several)
    return Task("lookups", signature([Field(source)], [Field(target)]), lambda rng, split: dict(zip((source, target), rng.choice(table))))


def opinions(rng: Random, split: str) -> Task:
    source = rng.choice(["text", "sentence", "review", "comment"])
    if rng.random() < 0.25:
        target = Field(rng.choice(["positive", "is_positive"]), "bool")
        convert = lambda label: label == "positive"  # noqa: E731
    else:
        labels = ("positive", "negative") if rng.random() < 0.6 else ("negative", "positive")
        name = rng.choice(["sentiment", "sentiment", "label"])
        target = Field.one_of(name, labels) if rng.random() < 0.5 else Field("sentiment")
        convert = str
    reasoned = rng.random() < 0.25

    def example(rng: Random, split: str) -> dict:
        text, label = sentiment.review(rng, split)
        reason = {"reasoning": f"The text sounds {label}."} if reasoned else {}
        return {source: text, **reason, target.name: convert(label)}

    return Task("opinions", signature([Field(source)], [_REASONING, target] if reasoned else [target]), example)


def people(rng: Random, split: str) -> Task:
    source = rng.choice(["text", "sentence", "context"])
    fields = rng.choice([[Field("name"), Field("age", "int")], [Field("name")], [Field("age", "int")], [Field("name"), Field("age")]])

    def example(rng: Random, split: str) -> dict:
        text, answer = extract.fact(rng, split)
        known = json.loads(answer)
        return {source: text, **{f.name: known[f.name] if f.kind == "int" or f.name == "name" else str(known[f.name]) for f in fields}}

    return Task("people", signature([Field(source)], fields), example)


_MAKERS = {sums: 9, facts: 4, lookups: 3, opinions: 4, people: 2}


def draw(rng: Random, split: str) -> Task:
    return rng.choices(list(_MAKERS), list(_MAKERS.values()))[0](rng, split)
