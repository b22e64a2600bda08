"""Mixes the tasks into conversations: with and without a system prompt, of one turn or of several."""

from collections.abc import Iterator
from random import Random

from . import arithmetic, capitals, dspy_format, extract, identity, in_schema, repeat, sentiment, story, style, tools, words
from .exchange import Conversation, Exchange
from .split import HELD_OUT, TRAIN

# Weights in the mix: arithmetic is what a small model learns last.
WEIGHTS = {
    arithmetic.make: 36, capitals.make: 9, words.opposite: 7, words.plural: 7, sentiment.make: 8, repeat.make: 16,
    extract.make: 8, identity.make: 10, story.make: 4,
}
_MAKERS, _SHARES = list(WEIGHTS), list(WEIGHTS.values())
# Tasks with a short and a long answer, which a style or DSPy can ask for.
_SHORT = {arithmetic.make: 5, capitals.make: 4, words.opposite: 3, words.plural: 3, sentiment.make: 3}


def casual(rng: Random, split: str, exchange: Exchange) -> Exchange:
    """The careless spelling of real users: no capital, no closing mark, a please or a greeting more."""
    if exchange.literal or exchange.task in ("identity", "small_talk") and len(exchange.user) < 12:
        return exchange
    text, roll = exchange.user, rng.random()
    if roll < 0.08 and not text.startswith("I"):
        text = text[0].lower() + text[1:]
    elif roll < 0.16:
        text = text.rstrip("?.!")
    elif roll < 0.20:
        text = text[0].lower() + text[1:].rstrip("?.!") if not text.startswith("I") else text.rstrip("?.!")
    elif roll < 0.23 and split == TRAIN:
        text = text.rstrip("?.!") + ", please" + (text[-1] if text[-1] in "?.!" else "")
    elif roll < 0.26 and split == TRAIN:
        text = rng.choice(["Hi, ", "Hello! ", "Hey, ", "Ok, ", "And now: "]) + text
    exchange.user = text
    return exchange


def _exchange(rng: Random, split: str) -> Exchange:
    make = rng.choices(_MAKERS, _SHARES)[0]
    return casual(rng, split, make(rng, split))


def _short(rng: Random, split: str) -> Exchange:
    return rng.choices(list(_SHORT), list(_SHORT.values()))[0](rng, split)


def assemble(system: str | None, exchanges: list[Exchange]) -> Conversation:
    messages: list[dict] = [{"role": "system", "content": system}] if system else []
    judged = []
    for exchange in exchanges:
        messages += [{"role": "user", "content": exchange.user}, {"role": "assistant", "content": exchange.answer}]
        judged.append((len(messages) - 1, exchange.rule, exchange.expect or [exchange.answer], exchange.task))
    return Conversation(messages, None, judged)


def _system(rng: Random, split: str) -> str | None:
    return style.PLAIN.pick(rng, split) if rng.random() < 0.35 else None


def single(rng: Random, split: str) -> Conversation:
    exchange = _exchange(rng, split)
    if exchange.short and exchange.task not in ("identity", "small_talk", "memory") and rng.random() < 0.06:
        exchange = style.inline(rng, split, exchange)
    return assemble(_system(rng, split), [exchange])


def several(rng: Random, split: str) -> Conversation:
    exchanges = [_exchange(rng, split) for _ in range(rng.choice([2, 2, 3, 3, 4]))]
    if rng.random() < 0.2:
        told, asked = identity.introduction(rng, split)
        exchanges.insert(rng.randrange(len(exchanges)), told)
        exchanges.append(asked)
    return assemble(_system(rng, split), exchanges)


def sums(rng: Random, split: str) -> Conversation:
    """A run of sums: dense practice."""
    exchanges = [casual(rng, split, arithmetic.make(rng, split)) for _ in range(rng.randint(4, 10))]
    if split == TRAIN and rng.random() < 0.6:
        for exchange in exchanges:
            # The bare sum, as the answer spells it: the shortest practice there is.
            exchange.user = exchange.answer.split(" =")[0]
    return assemble(_system(rng, split), exchanges)


def copies(rng: Random, split: str) -> Conversation:
    """A run of phrases and facts to copy: what attention learns slowest."""
    makers = [repeat.make, repeat.make, extract.make]
    return assemble(_system(rng, split), [rng.choice(makers)(rng, split) for _ in range(rng.randint(2, 5))])


def in_style(rng: Random, split: str) -> Conversation:
    name = rng.choices(["one_word", "upper", "sentence"], [5, 4, 2])[0]
    exchanges = []
    for _ in range(rng.choice([1, 2, 3, 4, 6])):
        exchange = identity.make(rng, split) if rng.random() < 0.15 else casual(rng, split, _short(rng, split))
        if exchange.short is not None and (name != "upper" or exchange.task in style.UPPER_TASKS):
            exchanges.append(style.styled(rng, split, name, exchange))
    if not exchanges:
        return in_style(rng, split)
    return assemble(style.SYSTEMS[name].pick(rng, split), exchanges)


def extraction(rng: Random, split: str) -> Conversation:
    system, exchange = extract.by_system(rng, split)
    return assemble(system, [exchange] + [extract.by_system(rng, split)[1] for _ in range(rng.choice([0, 0, 1]))])


def with_tools(rng: Random, split: str) -> Conversation:
    # A sum could be meant for an offered adding tool, so it is never the question that needs none.
    plain = rng.choice([capitals.make, identity.make, words.opposite, words.plural])(rng, split)
    return tools.make(rng, split, plain, _system(rng, split))


def in_dspy(rng: Random, split: str) -> Conversation:
    count = 1 if split == HELD_OUT else rng.choice([1, 2, 3, 4])
    return dspy_format.make(rng, split, [_short(rng, split) for _ in range(count)])


def raw(rng: Random, split: str) -> Conversation:
    """Plain text, for completions without a template: a fact or a story."""
    return Conversation([], raw=_short(rng, split).reason if rng.random() < 0.8 else story.make(rng, split).answer)


def schema(rng: Random, split: str) -> Conversation:
    return in_schema.make(rng, split, _system(rng, split))


KINDS = {single: 32, several: 18, sums: 9, copies: 8, in_style: 24, extraction: 6, with_tools: 12, in_dspy: 6, raw: 2, schema: 22,
         dspy_format.typed: 18, dspy_format.practice: 22, dspy_format.revealed: 14, dspy_format.again: 4}
# Hundreds of tokens each, and out of reach until short texts are copied well.
_LONG = (with_tools, in_dspy, dspy_format.typed, dspy_format.practice, dspy_format.revealed, dspy_format.again)


def conversations(seed: int, split: str, long_share: float = 1.0) -> Iterator[Conversation]:
    """An endless stream, the same for the same arguments; `long_share` thins out the long kinds early in the training."""
    rng = Random(f"{split}-{seed}")
    kinds = list(KINDS)
    shares = [KINDS[kind] * (long_share if kind in _LONG else 1.0) for kind in kinds]
    while True:
        yield rng.choices(kinds, shares)[0](rng, split)
