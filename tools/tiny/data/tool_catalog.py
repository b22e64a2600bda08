"""The tools that conversations offer."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .split import Phrases


@dataclass
class ToolKind:
    names: list[str]
    descriptions: list[str]
    # slot in the phrasing: (names of the argument, JSON type, kind of value, description)
    slots: dict[str, tuple[list[str], str, str, str]]
    asks: Phrases
    # key in the reply: kind of value
    reply: dict[str, str] = field(default_factory=dict)
    optional: str | None = None
    compute: Callable | None = None

    def value_kinds(self) -> set[str]:
        return {value for _names, _type, value, _text in self.slots.values()}


_CITY = (["city", "location", "city", "place"], "string", "city", "The city")
CATALOG = [
    ToolKind(["get_weather", "weather", "get_current_weather"],
             ["Get the current weather in a city.", "Get the weather for a location", "Current weather of a place", "Returns the weather"],
             {"c": _CITY},
             Phrases(["What is the weather in {c}?", "How is the weather in {c}?", "What's the weather like in {c}?", "Weather in {c}?",
                      "Is it raining in {c}?", "Tell me the weather in {c}.", "Do I need an umbrella in {c}?", "How warm is it in {c}?",
                      "What is the weather like in {c} today?", "Check the weather in {c}."],
                     ["What's the weather in {c} today?", "Can you tell me the weather in {c}?", "How is the weather in {c} right now?",
                      "Please check the weather in {c}."]),
             {"temperature": "minutes", "condition": "weather"}, optional="unit"),
    ToolKind(["get_time", "get_current_time", "current_time"],
             ["Get the current time in a city.", "Get the time for a location", "Returns the local time"], {"c": _CITY},
             Phrases(["What time is it in {c}?", "What is the time in {c}?", "Tell me the time in {c}.", "What's the time in {c}?",
                      "Current time in {c}?", "Which time is it in {c}?"],
                     ["Can you tell me the time in {c}?", "What is the current time in {c}?", "What time is it now in {c}?"]),
             {"time": "clock"}),
    ToolKind(["add", "add_numbers", "sum"], ["Add two numbers.", "Adds two integers", "Returns the sum of two numbers"],
             {"a": (["a", "x", "first"], "integer", "number", "The first number"), "b": (["b", "y", "second"], "integer", "number", "The second number")},
             Phrases(["What is {a} + {b}?", "Add {a} and {b}.", "What is {a} plus {b}?", "Use the tool to add {a} and {b}.", "Compute {a} + {b}.", "What is {a}+{b}?"],
                     ["Please add {a} and {b}.", "How much is {a} plus {b}?", "Calculate {a} + {b}."]),
             compute=lambda a, b: a + b),
    ToolKind(["multiply", "multiply_numbers"], ["Multiply two numbers.", "Returns the product of two numbers"],
             {"a": (["a", "x", "first"], "integer", "number", "The first number"), "b": (["b", "y", "second"], "integer", "number", "The second number")},
             Phrases(["What is {a} times {b}?", "Multiply {a} by {b}.", "What is {a} * {b}?", "Compute {a} times {b}.", "Multiply {a} and {b}."],
                     ["Please multiply {a} by {b}.", "How much is {a} times {b}?", "Calculate {a} * {b}."]),
             compute=lambda a, b: a * b),
    ToolKind(["search", "web_search", "search_web"], ["Search the web.", "Search the internet for a query", "Finds pages about a query"],
             {"q": (["query", "q", "text"], "string", "words", "What to search for")},
             Phrases(["Search for {q}.", "Search the web for {q}.", "Look up {q} on the web.", "Find pages about {q}.", "Search {q}"],
                     ["Please search for {q}.", "Search the internet for {q}.", "Can you search the web for {q}?"]),
             {"title": "words"}),
    ToolKind(["set_timer", "start_timer"], ["Set a timer.", "Starts a timer for some minutes"],
             {"m": (["minutes", "duration"], "integer", "minutes", "The time in minutes")},
             Phrases(["Set a timer for {m} minutes.", "Start a timer for {m} minutes.", "Timer for {m} minutes.", "Notifier me in {m} minutes."],
                     ["Please set a timer for {m} minutes.", "Can you start a timer for {m} minutes?"]),
             {"status": "state"}),
    ToolKind(["translate", "translate_text"], ["Translate text to a language.", "Translates a word into another language"],
             {"t": (["text", "word"], "string", "words", "The text"), "l": (["language", "target"], "string", "language", "The language")},
             Phrases(["Translate {t} to {l}.", "Translate \"{t}\" to {l}.", "How do you say {t} in {l}?", "Say {t} in {l}.", "Translate \"{t}\" into {l}."],
                     ["Please translate \"{t}\" to {l}.", "Translate {t} into {l}.", "What is {t} in {l}?"]),
             {"translation": "word"}),
    ToolKind(["send_message", "send_text"], ["Send a message to a person.", "Sends a text message"],
             {"p": (["to", "recipient", "name"], "string", "person", "Who gets it"), "t": (["message", "text", "body"], "string", "words", "What to say")},
             Phrases(["Send {p} the message {t}.", "Tell {p}: {t}", "Send a message to {p}: {t}", "Message {p}: {t}", "Send \"{t}\" to {p}."],
                     ["Please send {p} a message: {t}", "Text {p}: {t}", "Send the message \"{t}\" to {p}."]),
             {"status": "state"}),
    ToolKind(["convert_currency", "exchange"], ["Convert money to another currency.", "Converts an amount between currencies"],
             {"a": (["amount"], "number", "number", "The amount"), "f": (["from", "source"], "string", "currency", "The currency to convert from"),
              "t": (["to", "target"], "string", "currency", "The currency to convert to")},
             Phrases(["Convert {a} {f} to {t}.", "How much is {a} {f} in {t}?", "What is {a} {f} in {t}?", "Change {a} {f} into {t}."],
                     ["Please convert {a} {f} to {t}.", "How many {t} are {a} {f}?"]),
             {"amount": "number"}),
    ToolKind(["play_music", "play_song"], ["Play music.", "Plays a song"],
             {"s": (["song", "title"], "string", "words", "The song")},
             Phrases(["Play {s}.", "Play the song {s}.", "I want to hear {s}.", "Put on {s}.", "Play \"{s}\"."],
                     ["Please play {s}.", "Can you play the song {s}?"]),
             {"status": "state"}),
    ToolKind(["book_flight", "find_flight", "search_flights"], ["Book a flight between two cities.", "Find flights between two cities"],
             {"f": (["from", "origin"], "string", "city", "Where it starts"), "t": (["to", "destination"], "string", "city", "Where it ends")},
             Phrases(["Book a flight from {f} to {t}.", "Find a flight from {f} to {t}.", "I need to fly from {f} to {t}.", "Flights from {f} to {t}?"],
                     ["Please book a flight from {f} to {t}.", "I want to fly from {f} to {t}."]),
             {"flight": "code", "time": "clock"}),
    ToolKind(["get_population", "population"], ["Get the population of a city.", "Returns how many people live in a city"], {"c": _CITY},
             Phrases(["How many people live in {c}?", "What is the population of {c}?", "Population of {c}?", "How big is the population of {c}?"],
                     ["Can you tell me the population of {c}?", "What's the population of {c}?"]),
             {"population": "number"}),
]
NOUNS = ("price status balance score schedule address phone size weight owner stock color age rating email location history total "
         "manager deadline title speed version report discount height").split()
KINDS = "product order account team train person user package invoice book car student employee ticket server file room project".split()
LOOKUP_PHRASES = Phrases(
    train=["What is the {n} of {k} {v}?", "Get the {n} of {k} {v}.", "Tell me the {n} of {k} {v}.", "{n} of {k} {v}?", "Look up the {n} of {k} {v}.",
           "I need the {n} for {k} {v}.", "Find the {n} of {k} {v}.", "What's the {n} for {k} {v}?"],
    held_out=["Can you get the {n} of {k} {v}?", "Please look up the {n} for {k} {v}.", "What's the {n} of {k} {v}?"],
)
