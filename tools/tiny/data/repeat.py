"""Repeats a short phrase, letter by letter."""

from random import Random

from .exchange import Exchange
from .names import CITIES, NAMES, WORDS, invented
from .split import Phrases, draw

ASKS = Phrases(
    train=["Repeat after me: {t}", "Say exactly: {t}", "Say this exactly: {t}", "Repeat: {t}", "Please repeat: {t}", "Echo: {t}",
           "Repeat this phrase: {t}", "Repeat the following: {t}", "Say \"{t}\".", "Repeat \"{t}\".", "Repeat the phrase \"{t}\".",
           "Please say: {t}", "Write exactly this: {t}", "Copy this text: {t}", "Say the following words: {t}", "Repeat after me: \"{t}\"",
           "Can you say \"{t}\"?", "Repeat exactly:\n{t}", "Output only this: {t}", "Reply with exactly: {t}", "Say exactly this: \"{t}\"",
           "Please echo the following: {t}", "Please repeat this exactly: {t}", "Reply with this: \"{t}\".", "Repeat the following words: {t}"],
    held_out=["Say this exactly: \"{t}\"", "Please repeat after me: {t}", "Repeat this exactly: {t}", "Echo the following: {t}",
              "Please say exactly this: {t}", "Repeat the following phrase: {t}", "Reply with \"{t}\"."],
)


def phrase(rng: Random) -> str:
    words = []
    for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 9, 12])):
        kind = rng.random()
        if kind < 0.55:
            words.append(rng.choice(WORDS))
        elif kind < 0.82:
            words.append(invented(rng))
        elif kind < 0.92:
            words.append(rng.choice(NAMES + CITIES))
        else:
            words.append(str(rng.randint(0, 999)))
    case = rng.random()
    text = " ".join(words)
    if case < 0.35:
        text = text[0].upper() + text[1:]
    elif case < 0.42:
        text = text.title()
    elif case < 0.48:
        text = text.upper()
    return text


def make(rng: Random, split: str) -> Exchange:
    text = draw(rng, split, phrase, lambda t: ("repeat", t.lower()))
    ask = ASKS.pick(rng, split)
    if ask.endswith("{t}") and rng.random() < 0.3:
        text += rng.choice([".", "!", "?", "."])
    return Exchange("repeat", ask.format(t=text), text, None, None, "exact", literal=True)
