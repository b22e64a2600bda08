"""Name and age of a person, as JSON."""

import json
from random import Random

from .exchange import Exchange
from .names import CITIES, SURNAMES, first_name
from .split import Phrases

FACTS = Phrases(
    train=["My name is {n} and I am {a} years old.", "{n} is {a} years old.", "I am {n}, {a} years old.", "{n}, {a}, lives in {c}.",
           "Hi, I'm {n} and I'm {a}.", "This is {n}. {n} is {a}.", "I am {a} years old and my name is {n}.", "{n} turned {a} yesterday.",
           "At the age of {a}, {n} moved to {c}.", "{n} from {c} is {a} years old.", "name {n}, age {a}", "Our teacher {n} is {a} years old.",
           "My friend {n} is {a}.", "{n} ({a}) works in {c}.", "Her name is {n} and she is {a}.", "He is called {n} and he is {a} years old.",
           "Meet {n}, who is {a} and lives in {c}.", "My brother {n} is {a} years old.", "My cousin {n} is {a}.", "Our sister {n} turned {a}.",
           "Last year {n} turned {a}.", "Hello, I am {n}. I am {a}.", "Good morning, my name is {n}. I'm {a} years old.", "{n} is {a} and works in {c}.",
           "His name is {n}, and his age is {a}.", "My neighbour {n} from {c} is {a}."],
    held_out=["I'm {n} and I am {a} years old.", "My sister {n} is {a} years old.", "{n} is {a} and lives in {c}.",
              "His name is {n} and he is {a}.", "Hello, my name is {n}. I am {a}.", "Last week {n} turned {a}."],
)
ASKS = Phrases(
    train=["Extract the name and age as JSON: {t}", "Extract name and age to JSON: {t}", "Give me the name and the age in JSON. {t}",
           "Return a JSON object with name and age: {t}", "{t} Extract name and age as JSON.", "Extract the name and age.\n{t}",
           "Text: {t}\nReturn JSON with the keys name and age.", "Extract as {{\"name\": ..., \"age\": ...}}: {t}",
           "Fill in {{\"name\": ..., \"age\": ...}} from this text: {t}", "Read this and answer as {{\"name\": string, \"age\": number}}: {t}",
           "{t}\nWrite the name and age as JSON.", "Who is this about and how old are they? Answer in JSON. {t}",
           "Turn this into JSON with name and age: {t}", "JSON name and age: {t}", "Please extract the name and age as JSON: {t}",
           "Extract the name and the age from this sentence as JSON: {t}", "Convert this to a JSON object with name and age: {t}",
           "{t}\nReturn the name and the age as a JSON object.", "Extract JSON with the keys name and age.\n\n{t}"],
    held_out=["Extract the name and age from this text as JSON: {t}", "Please return JSON with name and age: {t}",
              "Give me {{\"name\": ..., \"age\": ...}} for: {t}", "Extract name and age in JSON.\n\n{t}",
              "{t}\nExtract the name and the age as a JSON object.", "Convert to JSON with keys name and age: {t}"],
)
SYSTEMS = Phrases(
    train=["Extract the name and age from the user's text as JSON.", "Answer with a JSON object that has the keys name and age.",
           "You extract data. Reply only with JSON: {\"name\": ..., \"age\": ...}", "Return the name and the age in JSON.",
           "Reply only with JSON: name and age.", "Extract name and age.", "Turn the text into JSON with the keys name and age.",
           "You turn every text into JSON with name and age."],
    held_out=["Extract name and age as JSON.", "Reply with a JSON object with the keys name and age.",
              "You turn text into JSON: {\"name\": ..., \"age\": ...}"],
)


def fact(rng: Random, split: str) -> tuple[str, str]:
    name = first_name(rng, split)
    if rng.random() < 0.15:
        name += " " + rng.choice(SURNAMES)
    age = rng.randint(1, 99)
    text = FACTS.pick(rng, split).format(n=name, a=age, c=rng.choice(CITIES))
    return text, json.dumps({"name": name, "age": age})


def make(rng: Random, split: str) -> Exchange:
    text, answer = fact(rng, split)
    return Exchange("extract", ASKS.pick(rng, split).format(t=text), answer, None, None, "json", literal=True)


def by_system(rng: Random, split: str) -> tuple[str, Exchange]:
    """The instruction in the system prompt, the bare text from the user."""
    text, answer = fact(rng, split)
    return SYSTEMS.pick(rng, split), Exchange("extract", text, answer, None, None, "json", literal=True)
