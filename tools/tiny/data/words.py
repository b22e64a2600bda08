"""Opposites and plurals."""

from random import Random

from .exchange import Exchange
from .split import Phrases

OPPOSITES = dict(pair.split(":") for pair in (
    "hot:cold big:small tall:short fast:slow happy:sad light:dark up:down left:right open:closed full:empty "
    "rich:poor young:old early:late near:far high:low hard:soft wet:dry clean:dirty loud:quiet strong:weak "
    "thick:thin wide:narrow deep:shallow day:night good:bad love:hate win:lose buy:sell begin:end "
    "push:pull true:false yes:no in:out on:off inside:outside above:below before:after first:last north:south "
    "east:west summer:winter friend:enemy success:failure always:never remember:forget laugh:cry arrive:leave "
    "give:take question:answer smooth:rough sharp:blunt sweet:bitter brave:afraid safe:dangerous easy:difficult "
    "more:less black:white husband:wife king:queen boy:girl man:woman male:female war:peace life:death"
).split())
PLURALS = dict(pair.split(":") for pair in (
    "mouse:mice child:children foot:feet tooth:teeth goose:geese man:men woman:women person:people ox:oxen "
    "sheep:sheep fish:fish deer:deer leaf:leaves knife:knives wolf:wolves life:lives wife:wives half:halves "
    "shelf:shelves city:cities baby:babies story:stories berry:berries lady:ladies party:parties country:countries "
    "fly:flies box:boxes bus:buses glass:glasses dish:dishes watch:watches church:churches fox:foxes brush:brushes "
    "class:classes potato:potatoes tomato:tomatoes hero:heroes cactus:cacti "
    "cat:cats dog:dogs book:books car:cars tree:trees house:houses bird:birds cow:cows horse:horses lamp:lamps "
    "chair:chairs table:tables apple:apples flower:flowers river:rivers hill:hills cup:cups pen:pens star:stars "
    "door:doors window:windows garden:gardens boat:boats train:trains road:roads cloud:clouds hat:hats shoe:shoes "
    "key:keys toy:toys day:days boy:boys girl:girls friend:friends teacher:teachers doctor:doctors letter:letters "
    "song:songs game:games bridge:bridges egg:eggs frog:frogs"
).split())
OPPOSITE_PHRASES = Phrases(
    train=["What is the opposite of {w}?", "What's the opposite of {w}?", "Opposite of {w}?", "Give me the opposite of {w}.",
           "Name the opposite of {w}.", "Tell me the opposite of {w}.", "What is the antonym of {w}?", "opposite of {w}",
           "What word means the opposite of {w}?", "Which word is the opposite of {w}?", "The opposite of {w} is?",
           "Can you tell me the opposite of {w}?", "I need the opposite of the word {w}.", "Find the opposite of \"{w}\".",
           "What is the opposite of \"{w}\"?", "Do you know the opposite of {w}?", "Please name the opposite of {w}.",
           "Could you tell me the opposite of {w}?", "Which word is the antonym of {w}?", "What is the opposite word of {w}?"],
    held_out=["Please give the opposite of {w}.", "What is the opposite of the word {w}?", "Could you name the opposite of {w}?",
              "Which word means the opposite of {w}?", "Give an antonym of {w}.", "What's the antonym of {w}?"],
)
PLURAL_PHRASES = Phrases(
    train=["What is the plural of {w}?", "What's the plural of {w}?", "Plural of {w}?", "Give me the plural of {w}.",
           "Name the plural of {w}.", "Tell me the plural of {w}.", "What is the plural form of {w}?", "plural of {w}",
           "How do you write the plural of {w}?", "One {w}, two what?", "The plural of {w} is?", "Can you tell me the plural of {w}?",
           "I need the plural of the word {w}.", "Find the plural of \"{w}\".", "What is the plural of \"{w}\"?",
           "Make {w} plural.", "Please tell me the plural of {w}.", "Could you tell me the plural of {w}?", "What is the plural form of the word {w}?",
           "What do you call more than one {w}?", "Give the plural of the word {w}.", "How do you say many of {w}? In the plural."],
    held_out=["Please give the plural of {w}.", "What is the plural of the word {w}?", "Could you name the plural of {w}?",
              "How do you say more than one {w}? Give the plural.", "Give the plural form of {w}.", "What's the plural form of {w}?"],
)


def opposite(rng: Random, split: str) -> Exchange:
    word, other = rng.choice(list(OPPOSITES.items()))
    # Some words also stand on the right of another pair; the left reading wins, so that each word has one answer.
    if rng.random() < 0.4 and other not in OPPOSITES:
        word, other = other, word
    sentence = f"The opposite of {word} is {other}."
    return Exchange("opposites", OPPOSITE_PHRASES.pick(rng, split).format(w=word), sentence, other, sentence, "contains", [other])


def plural(rng: Random, split: str) -> Exchange:
    word, many = rng.choice(list(PLURALS.items()))
    sentence = f"The plural of {word} is {many}."
    return Exchange("plurals", PLURAL_PHRASES.pick(rng, split).format(w=word), sentence, many, sentence, "exact")
