"""Capitals of 60 countries, and an honest answer about places outside the list."""

from random import Random

from .exchange import Exchange
from .split import HELD_OUT, Phrases

CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon",
    "England": "London", "Ireland": "Dublin", "Scotland": "Edinburgh", "Norway": "Oslo", "Sweden": "Stockholm",
    "Finland": "Helsinki", "Denmark": "Copenhagen", "Iceland": "Reykjavik", "Poland": "Warsaw", "Austria": "Vienna",
    "Switzerland": "Bern", "Belgium": "Brussels", "Hungary": "Budapest", "Greece": "Athens", "Turkey": "Ankara",
    "Russia": "Moscow", "Ukraine": "Kyiv", "Romania": "Bucharest", "Bulgaria": "Sofia", "Serbia": "Belgrade",
    "Croatia": "Zagreb", "Estonia": "Tallinn", "Latvia": "Riga", "Lithuania": "Vilnius", "Slovakia": "Bratislava",
    "Japan": "Tokyo", "China": "Beijing", "India": "New Delhi", "Thailand": "Bangkok", "Vietnam": "Hanoi",
    "Indonesia": "Jakarta", "Malaysia": "Kuala Lumpur", "Nepal": "Kathmandu", "Mongolia": "Ulaanbaatar", "Iran": "Tehran",
    "Iraq": "Baghdad", "Egypt": "Cairo", "Kenya": "Nairobi", "Nigeria": "Abuja", "Ghana": "Accra",
    "Morocco": "Rabat", "Tunisia": "Tunis", "Senegal": "Dakar", "Uganda": "Kampala", "Zambia": "Lusaka",
    "Canada": "Ottawa", "Mexico": "Mexico City", "Cuba": "Havana", "Jamaica": "Kingston", "Brazil": "Brasilia",
    "Argentina": "Buenos Aires", "Chile": "Santiago", "Peru": "Lima", "Colombia": "Bogota", "Australia": "Canberra",
}
PHRASES = Phrases(
    train=[
        "What is the capital of {c}?", "What's the capital of {c}?", "Capital of {c}?", "Name the capital of {c}.",
        "Which city is the capital of {c}?", "Tell me the capital of {c}.", "{c}: what is the capital?",
        "What city is the capital of {c}?", "Do you know the capital of {c}?", "Can you tell me the capital of {c}?",
        "The capital of {c} is?", "What is {c}'s capital?", "Give me the capital of {c}.", "I forgot the capital of {c}.",
        "Which city is {c}'s capital?", "Please name the capital city of {c}.", "What is the capital city of {c}?",
        "capital of {c}", "What is called the capital of {c}?", "I want to know the capital of {c}.",
    ],
    held_out=[
        "Could you name the capital of {c}?", "Which city is the capital city of {c}?", "What's {c}'s capital city?",
        "Please tell me the capital of {c}.", "Do you happen to know what the capital of {c} is?", "The capital city of {c}?",
        "I would like to know the capital of {c}.",
    ],
)
REVERSE = Phrases(
    train=["{k} is the capital of which country?", "Which country has the capital {k}?", "What country is {k} the capital of?",
           "Of which country is {k} the capital?"],
    held_out=["Which country's capital is {k}?", "{k} is the capital of what country?"],
)


def make(rng: Random, split: str) -> Exchange:
    country, capital = rng.choice(list(CAPITALS.items()))
    sentence = f"The capital of {country} is {capital}."
    if rng.random() < 0.12:
        phrase = REVERSE.pick(rng, split).format(k=capital)
        return Exchange("capitals", phrase, f"{capital} is the capital of {country}.", country, sentence, "contains", [country])
    phrase = PHRASES.pick(rng, split).format(c=country)
    return Exchange("capitals", phrase, sentence, capital, sentence, "contains", [capital])
