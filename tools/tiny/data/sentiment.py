"""Whether a short review is positive or negative."""

from random import Random

from .exchange import Exchange
from .split import Phrases, draw

SUBJECTS = ("the food|the movie|the service|this book|the hotel|my new phone|the concert|the game|this laptop|the trip|"
            "the room|the staff|the show|the coffee|this app|the weather|the lesson|the party|the cake|the story|the music|"
            "the flight|the restaurant|the product|the film|the delivery|the support team|the museum|the ending").split("|")
GOOD = ("great|wonderful|amazing|excellent|fantastic|lovely|perfect|brilliant|delightful|superb|awesome|good|very good|"
        "beautiful|pleasant|outstanding|impressive|nice|really nice|delicious|fun|enjoyable|incredible|marvelous").split("|")
BAD = ("terrible|awful|horrible|bad|very bad|boring|disappointing|dreadful|poor|disgusting|a waste of time|broken|"
       "ugly|unpleasant|annoying|useless|rude|dirty|slow and boring|not good|a disaster|painful|cheap and ugly|pathetic").split("|")
FRAMES = Phrases(
    train=["{s} was {a}.", "I think {s} was {a}.", "{s} is {a}!", "In my opinion {s} was {a}.", "Honestly, {s} was {a}.",
           "We found that {s} was {a}.", "{s} turned out to be {a}.", "My friends say {s} is {a}.", "Wow, {s} was {a}!",
           "It seems that {s} was {a}.", "All in all, {s} was {a}.", "I find that {s} is {a}.", "To me, {s} was {a}."],
    held_out=["To be honest, {s} was {a}.", "I found that {s} was {a}.", "It seems to me that {s} is {a}.", "Overall, {s} was {a}."],
)
GOOD_LINES = Phrases(
    train=["I love {s}.", "I really enjoyed {s}!", "I would recommend {s} to everyone.", "{s} made me so happy.", "Thank you for {s}, I loved it!",
           "I am very happy with {s}.", "I like {s} a lot.", "I loved every minute of {s}.", "I really liked {s}.", "I would gladly come back for {s}.",
           "I am so happy about {s}."],
    held_out=["I loved {s}!", "I am so happy with {s}.", "I would gladly recommend {s}."],
)
BAD_LINES = Phrases(
    train=["I hate {s}.", "I did not enjoy {s}.", "I would never recommend {s}.", "{s} made me so angry.", "I want my money back for {s}.",
           "I am very unhappy with {s}.", "I do not like {s} at all.", "I hated every minute of {s}.", "I really hated {s}.", "I am so unhappy about {s}.",
           "I did not really like {s}."],
    held_out=["I hated {s}!", "I am so unhappy with {s}.", "I did not like {s}."],
)
ASKS = Phrases(
    train=["Is this positive or negative? {t}", "Classify the sentiment: {t}", "What is the sentiment of this text? {t}",
           "Sentiment: {t}", "Positive or negative: {t}", "Tell me if this review is positive or negative: {t}",
           "Is the following sentence positive or negative?\n{t}", "What is the sentiment of \"{t}\"?",
           "Classify this review as positive or negative: \"{t}\"", "{t}\nIs this positive or negative?",
           "Classify as positive or negative.\n\nText: {t}", "Does this sound positive or negative? {t}",
           "Label this text as positive or negative: {t}", "Which sentiment does this text have? {t}", "Sentiment of this text: {t}",
           "Is this review positive or negative? {t}", "Is the text \"{t}\" positive or negative?"],
    held_out=["What sentiment does this have? {t}", "Label this review as positive or negative: {t}",
              "Is the sentiment of this text positive or negative? {t}", "Sentiment of this review: {t}",
              "Is \"{t}\" positive or negative?"],
)


def review(rng: Random, split: str) -> tuple[str, str]:
    """A review and its label; (subject, opinion) pairs are kept apart by split."""
    label = rng.choice(["positive", "negative"])
    good = label == "positive"
    if rng.random() < 0.3:
        lines = GOOD_LINES if good else BAD_LINES
        text = lines.pick(rng, split).format(s=rng.choice(SUBJECTS))
    else:
        words = GOOD if good else BAD
        subject, opinion = draw(rng, split, lambda r: (r.choice(SUBJECTS), r.choice(words)), lambda v: ("sentiment", *v))
        text = FRAMES.pick(rng, split).format(s=subject, a=opinion)
    return text[0].upper() + text[1:], label


def make(rng: Random, split: str) -> Exchange:
    text, label = review(rng, split)
    return Exchange("sentiment", ASKS.pick(rng, split).format(t=text), label, label,
                    f"The text sounds {label}.", "exact", literal=True)
