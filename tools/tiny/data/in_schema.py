"""Answers that a JSON schema forces, to questions that say nothing of JSON: all but the opening of the object is learned.

Names of members are learned too, so that a forced one is written in its usual tokens. Judged is what follows the first name.
"""

import json
from random import Random

from . import arithmetic, capitals, extract, sentiment, words
from .exchange import Conversation, Exchange

_KEYS = {
    "arithmetic": ["answer", "result", "sum", "value", "number", "total"], "capitals": ["answer", "capital", "city", "result"],
    "opposites": ["answer", "opposite", "word", "result"], "plurals": ["answer", "plural", "word", "result"],
    "sentiment": ["sentiment", "label", "answer", "result"],
}


def _opened(rng: Random, key: str, value, rest: str = "") -> tuple[str, str]:
    """What the schema forces up to the value, and the whole object, in one of the usual spacings."""
    name, shown = json.dumps(key), json.dumps(value, ensure_ascii=False)
    spacing = rng.random()
    if spacing < 0.5:
        return f"{{{name}:", f"{{{name}: {shown}{rest}}}"
    if spacing < 0.65:
        # Without a space, the colon and the quote are one token.
        return f"{{{name}:" + ('"' if isinstance(value, str) else ""), f"{{{name}:{shown}{rest}}}"
    if spacing < 0.75:
        return f"{{ {name}:", f"{{ {name}: {shown}{rest} }}"
    return f"{{\n  {name}:", f"{{\n  {name}: {shown}{rest}\n}}"


def make(rng: Random, split: str, system: str | None) -> Conversation:
    messages: list[dict] = [{"role": "system", "content": system}] if system else []
    judged = []
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        exchange, opened, content = _turn(rng, split)
        messages += [{"role": "user", "content": exchange.user}, {"role": "assistant", "content": content, "given": len(opened), "opening": content.index('"') + 1}]
        judged.append((len(messages) - 1, "exact", [content[len(opened):].strip()], "schema"))
    return Conversation(messages, None, judged)


def _turn(rng: Random, split: str) -> tuple[Exchange, str, str]:
    if rng.random() < 0.1:
        text, answer = extract.fact(rng, split)
        known = json.loads(answer)
        return Exchange("extract", text, answer), *_opened(rng, "name", known["name"], f', "age": {known["age"]}')
    make = rng.choices([arithmetic.make, capitals.make, words.opposite, words.plural, sentiment.make], [14, 2, 2, 2, 2])[0]
    exchange = make(rng, split, small=rng.random() < 0.7) if make is arithmetic.make else make(rng, split)
    key = rng.choice(["answer", "country"] if exchange.short in capitals.CAPITALS else _KEYS[exchange.task])
    number = exchange.task == "arithmetic" and rng.random() < 0.8
    if exchange.reason and rng.random() < 0.12:
        rest = f', {json.dumps(key)}: {exchange.short if number else json.dumps(exchange.short)}'
        return exchange, *_opened(rng, "reasoning", exchange.reason, rest)
    return exchange, *_opened(rng, key, int(exchange.short) if number else exchange.short)
