"""Tasks that only the demonstrations reveal: a set of labels, the form of an answer, what to do with a word."""

from dataclasses import dataclass
from random import Random

from . import arithmetic, capitals, sentiment, words
from .adapters import Field, signature
from .dspy_tasks import Task
from .names import WORDS
from .split import HELD_OUT, TRAIN, Phrases

# The label of a good text, and of a bad one.
LABELS = Phrases(
    train=["good bad", "happy sad", "yes no", "1 0", "plus minus", "pos neg", "up down", "like dislike", "fan critic", "thumbs_up thumbs_down",
           "green red", "keep drop", "A B", "win fail", "nice bad", "buy skip", "true false", "high low", "5 1", "white black",
           "praise complaint", "smile frown", "hot cold", "accept reject"],
    held_out=["sun rain", "great poor", "B A", "10 2", "blue orange", "sweet bitter"],
)
FORMS = {
    "upper": str.upper, "mark": "{}!".format, "stop": "{}.".format, "brackets": "[{}]".format, "angles": "<{}>".format, "stars": "*{}*".format,
    "dash": "- {}".format, "quotes": "'{}'".format,
}


@dataclass
class FewShot:
    task: Task
    # How many demonstrations tell all that there is to know; `shown` says of each example what it tells.
    shown: str
    wanted: int


def labels(rng: Random, split: str) -> FewShot:
    """A review and its label. Some pairs of labels are drawn at random, so that the meaning has to be read from the examples."""
    known = split == HELD_OUT or rng.random() < 0.6
    good, bad = LABELS.pick(rng, split).split() if known else rng.sample([*WORDS, *"ABCDEXYZ", *"1234567"], 2)
    source = rng.choice(["text", "sentence", "review", "comment", "feedback"])
    target = rng.choice(["label", "verdict", "category", "tag", "class", "rating", "sentiment"])

    def example(rng: Random, split: str) -> dict:
        text, label = sentiment.review(rng, split)
        return {source: text, target: good if label == "positive" else bad}

    fields = [Field(target)]
    if rng.random() < 0.1:
        fields = [Field.one_of(target, (good, bad) if rng.random() < 0.5 else (bad, good))]
    return FewShot(Task("labels", signature([Field(source)], fields), example), target, 2)


def forms(rng: Random, split: str) -> FewShot:
    """A question whose answer is written as in the examples."""
    form = rng.choice([None, *FORMS])
    source, target = rng.choice([("question", "answer")] * 4 + [("query", "response"), ("input", "output"), ("question", "result")])

    def example(rng: Random, split: str) -> dict:
        make = rng.choice([capitals.make, capitals.make, words.opposite, words.plural, arithmetic.make])
        exchange = make(rng, split)
        return {source: exchange.user, target: FORMS[form](exchange.short) if form else exchange.reason}

    return FewShot(Task("forms", signature([Field(source)], [Field(target)]), example), "", 1)


def word_tasks(rng: Random, split: str) -> FewShot:
    """A word, and what the examples do with it."""
    table, change = rng.choice([(words.OPPOSITES, dict.get), (words.PLURALS, dict.get), (words.OPPOSITES, None), (words.PLURALS, None)])
    form = rng.choice(list(FORMS.values())) if change is None else None
    first = rng.random() < 0.3
    source, target = rng.choice([("word", "result"), ("input", "output"), ("text", "result"), ("word", "answer")])
    known = list(table)

    def example(rng: Random, split: str) -> dict:
        word = rng.choice(known)
        return {source: word, target: table[word] if form is None else word[0] if first else form(word)}

    return FewShot(Task("word_tasks", signature([Field(source)], [Field(target)]), example), "", 1)


def draw(rng: Random, split: str) -> FewShot:
    return rng.choices([labels, forms, word_tasks], [6, 2, 1])[0](rng, split)


def examples(rng: Random, split: str, few: FewShot, count: int) -> tuple[list[dict], int]:
    """`count` different examples, and how many of them come before the task is known."""
    found, kinds, known = [], set(), None
    while len(found) < count:
        one = few.task.example(rng, split if len(found) == count - 1 else TRAIN)
        if one in found:
            continue
        if split == HELD_OUT and len(found) == 1 and few.shown and one[few.shown] in kinds:
            continue
        found.append(one)
        kinds.add(one[few.shown] if few.shown else "")
        if known is None and len(kinds) == (few.wanted if few.shown else 1):
            known = len(found)
    return found, count if known is None else known
