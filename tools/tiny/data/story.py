"""Stories of exactly three sentences."""

from random import Random

from .exchange import Exchange
from .names import NAMES
from .split import Phrases

HEROES = ("fox dog cat bird rabbit tiger lion bear monkey frog turtle whale robot dragon princess knight wizard pirate farmer "
          "baker girl boy king queen mouse horse duck owl penguin dinosaur snail bee").split()
_PLACES = "in the forest|by the river|on a hill|in a small town|near the sea|in a quiet garden|under a big tree|in an old castle".split("|")
_EVENTS = ("found a golden key|met a friendly stranger|got lost in the rain|saw a shining star|heard a strange song|found a tiny box|"
           "lost a red hat|built a little boat").split("|")
_ENDS = ("In the end {n} went home and was happy.|After that {n} was never alone again.|From that day on {n} smiled every morning.|"
         "{n} shared it with all friends and they danced all night.|At last {n} fell asleep and dreamed of the stars.").split("|")
ASKS = Phrases(
    train=["Tell me a story about a {h}.", "Tell me a short story about a {h}.", "Write a story about a {h}.", "Tell a three-sentence story about a {h}.",
           "Tell me a story.", "Tell me a short story.", "I want a story about a {h}.", "Write a three-sentence story about a {h}.",
           "Can you tell me a story about a {h}?", "A story about a {h}, please.", "Give me a short story about a {h}.",
           "Tell me a story in three sentences.", "Make up a story about a {h}.", "Write a short story."],
    held_out=["Please tell me a story about a {h}.", "Can you tell me a short story?", "Tell me a three-sentence story about a {h}.",
              "Write me a short story about a {h}.", "I would like a story about a {h}."],
)


def make(rng: Random, split: str) -> Exchange:
    ask = ASKS.pick(rng, split)
    hero = rng.choice(HEROES)
    name = rng.choice(NAMES)
    story = (f"Once upon a time a {hero} named {name} lived {rng.choice(_PLACES)}. "
             f"One day {name} {rng.choice(_EVENTS)}. {rng.choice(_ENDS).format(n=name)}")
    article = "an " if hero[0] in "aeiou" else "a "
    story = story.replace(f" a {hero} ", f" {article}{hero} ")
    user = ask.replace("a {h}", article + hero)
    return Exchange("story", user, story, None, None, "story", [hero] if "{h}" in ask else ["once"])
