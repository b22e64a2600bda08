#!/usr/bin/env python3
"""Writes tests/data/dspy/*.json: what Python's dspy renders, parses, samples and saves.

    python3 -m venv /tmp/dspy && /tmp/dspy/bin/pip install dspy==3.4.1
    /tmp/dspy/bin/python tools/dspy_golden.py tests/data/dspy

The version is pinned: another one refuses to run. Random cases are seeded, so the files come out the same again.

format.json    signatures, demonstrations and inputs; the messages of ChatAdapter and JSONAdapter; the saved state
parse.json     answers and what the adapters' parse() makes of them, where it succeeds
programs.json  programs that are compiled and run with scripted answers: states, every prompt, predictions
random.json    random.Random(seed): sample and shuffle
"""

import enum
import json
import logging
import pathlib
import random
import sys
import tempfile
from typing import Any, Literal, Optional, Union  # noqa: F401: names for annotations

import dspy
import pydantic
from dspy.adapters.chat_adapter import ChatAdapter
from dspy.adapters.json_adapter import JSONAdapter
from dspy.utils.dummies import DummyLM

VERSION = "3.4.1"
SEED = 20261123


class Color(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark blue"
    GREEN = "grün"


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class Person(pydantic.BaseModel):
    name: str
    age: int
    tags: list[str] = []


class Team(pydantic.BaseModel):
    """A team."""

    lead: Person
    members: list[Person]
    kind: Literal["red", "blue"] = pydantic.Field(description="which team")
    budget: Optional[float] = None


ENUMS = {"Color": Color, "Level": Level}
MODELS = {"Person": Person, "Team": Team}
HISTORY = dspy.History


def named_types():
    types = {name: {"enum": [[m.name, m.value] for m in cls]} for name, cls in ENUMS.items()}
    types.update({name: {"schema": cls.model_json_schema()} for name, cls in MODELS.items()})
    return types


def annotation(text):
    return eval(text, {**globals(), "History": HISTORY})


def make_signature(spec):
    if "text" in spec:
        return dspy.Signature(spec["text"], spec.get("instructions"), custom_types={**ENUMS, **MODELS, "History": HISTORY})
    fields = {}
    for field in spec["fields"]:
        make = dspy.OutputField if field["output"] else dspy.InputField
        extra = {key: field[key] for key in ("desc", "prefix") if key in field}
        fields[field["name"]] = (annotation(field["type"]), make(**extra))
    return dspy.Signature(fields, spec.get("instructions"))


def python_inputs(signature, inputs):
    values = dict(inputs)
    for name, field in signature.input_fields.items():
        if field.annotation == HISTORY and name in values:
            values[name] = HISTORY(messages=values[name]["messages"])
    return values


def format_case(name, spec, demos, inputs):
    signature = make_signature(spec)
    values = python_inputs(signature, inputs)
    return {
        "name": name,
        "signature": spec,
        "demos": demos,
        "inputs": inputs,
        "chat": ChatAdapter().format(signature, demos, values),
        "json": JSONAdapter().format(signature, demos, values),
        "state": signature.dump_state(),
    }


def text(signature, instructions=None):
    return {"text": signature} if instructions is None else {"text": signature, "instructions": instructions}


def fielded(*fields, instructions=None):
    spec = {"fields": [dict(zip(("name", "type", "output", "desc", "prefix"), field)) for field in fields]}
    return spec if instructions is None else {**spec, "instructions": instructions}


QA = {"question": "What is 2+2?", "answer": "4"}

FORMAT_CASES = [
    ("plain", text("question -> answer"), [], {"question": "What is 2+2?"}),
    ("two inputs", text("question, context -> answer: float"), [], {"question": "How much?", "context": "3.5 litres"}),
    ("int", text("question -> answer: int"), [{"question": "1+1", "answer": 2}], {"question": "2+2"}),
    ("float", text("x: float -> y: float"), [{"x": 1.0, "y": 1e-05}, {"x": 1e16, "y": 123456.789}], {"x": -0.1}),
    ("float values", text("x: float -> y: float"), [{"x": 1e15, "y": 0.0001}, {"x": 5e-324, "y": 1.7976931348623157e308}], {"x": 100.0}),
    ("bool", text("claim -> holds: bool"), [{"claim": "1 is 1", "holds": True}, {"claim": "1 is 2", "holds": False}], {"claim": "?"}),
    ("literal", text("t -> label: Literal['good', 'bad', \"it's\"]"), [{"t": "a", "label": "good"}], {"t": "b"}),
    ("literal quotes", text("t -> label: Literal['say \"hi\"', 'it\\'s \"both\"']"), [], {"t": "b"}),
    ("literal ints", text("t -> stars: Literal[1, 2, 3], more: Literal['a', 1, True, None]"), [{"t": "x", "stars": 2, "more": "a"}], {"t": "b"}),
    ("literal one", text("t -> only: list[Literal['one']]"), [], {"t": "b"}),
    ("list of texts", text("docs: list[str] -> words: list[str]"), [{"docs": ["a b", "c"], "words": ["a", "b", "ü"]}], {"docs": []}),
    ("list in a text field", text("context -> answer"), [{"context": ["one"], "answer": "x"}, {"context": [], "answer": "y"}], {"context": ["first", "second\nline", "«quoted»"]}),
    ("lists of numbers", text("n: list[int] -> m: list[float], o: list[list[bool]]"), [{"n": [1, 2], "m": [0.5], "o": [[True], []]}], {"n": [3]}),
    ("bare list", text("n: list -> m: list, d: dict"), [{"n": [1, "a", None], "m": [], "d": {"k": [1]}}], {"n": []}),
    ("dict", text("d: dict[str, int] -> e: dict[str, Any], f: dict[str, list[str]]"), [{"d": {"a": 1}, "e": {"x": {"y": None}}, "f": {"k": ["v"]}}], {"d": {"ä": 2}}),
    ("optional", text("q: Optional[str] -> a: Optional[int], b: int | str, c: str | None"), [{"q": "x", "a": 1, "b": "t", "c": "u"}, {"q": None, "a": None, "b": 1, "c": None}], {"q": None}),
    ("union", text("q -> a: Union[int, float, str, None], b: list[Optional[int]]"), [], {"q": "?"}),
    ("any", text("q: Any -> a: Any"), [{"q": {"k": 1}, "a": [1, 2.5, "x"]}, {"q": "t", "a": True}], {"q": 7}),
    ("enum", text("t -> color: Color, level: Level"), [{"t": "sky", "color": "dark blue", "level": 1}], {"t": "grass"}),
    ("enum in a list", text("t -> colors: list[Color], best: Optional[Level]"), [{"t": "sky", "colors": ["red", "grün"], "best": 2}], {"t": "x"}),
    ("object", text("t -> person: Person"), [{"t": "Ann, 4", "person": {"name": "Ann", "age": 4, "tags": []}}], {"t": "Bo, 5"}),
    ("object input", text("person: Person -> greeting"), [{"person": {"name": "Ann", "age": 4, "tags": ["x"]}, "greeting": "Hi"}], {"person": {"name": "Bo", "age": 5, "tags": []}}),
    ("nested objects", text("t -> team: Team"), [], {"t": "x"}),
    ("objects in lists", text("t -> people: list[Person], teams: dict[str, Team], one: Optional[Person]"), [], {"t": "x"}),
    ("instructions", text("q -> a", "Answer briefly."), [{"q": "x", "a": "y"}], {"q": "z"}),
    ("empty instructions", text("q -> a", ""), [], {"q": "z"}),
    ("indented instructions", text("q -> a", "\n    First line.\n\n      Indented.\n\tTab\n    Last.   \n\n"), [], {"q": "z"}),
    ("odd white space", text("q -> a", "One\u2028two\x0bthree\x85four\r\nfive\n   \n  six\n \t \n"), [], {"q": "z"}),
    ("a first line that is indented", text("q -> a", "   One\n two\n    three"), [], {"q": "z"}),
    ("only white space", text("q -> a", "  \n \t\n"), [], {"q": "z"}),
    ("unicode", text("frage, größe -> antwort"), [{"frage": "Wie groß? 🙂", "größe": "日本語", "antwort": "ｱ"}], {"frage": "ÄÖÜ", "größe": "ß"}),
    ("empty values", text("q, c -> a, b"), [{"q": "", "c": "", "a": "", "b": ""}], {"q": "", "c": ""}),
    ("white space values", text("q, c -> a, b"), [{"q": "  x\n", "c": "\n\n", "a": " \t", "b": "\u3000y\u3000"}], {"q": " lead", "c": "trail \n\n"}),
    ("many lines", text("q -> a"), [{"q": "1\n2\n\n3", "a": "x\n\ny"}], {"q": "[[ ## a ## ]]\nnot a marker of ours"}),
    ("incomplete demos", text("q, c -> a, b"), [{"q": "x", "a": "y"}, QA, {"q": "full", "c": "c", "a": "a", "b": "b"}, {"q": "x"}, {"a": "only"}, {"q": "n", "c": None, "a": "z", "b": None}], {"q": "z", "c": "d"}),
    ("incomplete typed demos", text("q -> n: int, l: list[str], p: Person"), [{"q": "x", "n": 3}, {"q": "y", "l": ["a"], "p": None}], {"q": "z"}),
    ("demos with more keys", text("q -> a"), [{"augmented": True, "q": "x", "a": "y", "other": 1}], {"q": "z"}),
    ("missing inputs", text("q, c -> a"), [], {"q": "z"}),
    ("no inputs at all", text("q, c -> a"), [], {}),
    ("no input fields", text(" -> a"), [], {}),
    ("values of other types", text("q -> a"), [{"q": 5, "a": 6.5}, {"q": True, "a": {"k": "v"}}], {"q": 12}),
    ("escapes", text("d: dict[str, str] -> e: list[str]"), [{"d": {"a\"b": "c\\d\n\t\r\b\f\x01\x7f"}, "e": ["\u2028", "/"]}], {"d": {}}),
    ("large numbers", text("n: int -> m: int"), [{"n": -9223372036854775808, "m": 9223372036854775807}], {"n": 0}),
    ("described", fielded(("question", "str", False, "what is asked"), ("context", "list[str]", False), ("answer", "int", True, "a number\nof two lines"), ("why", "str", True, "${why}")), [], {"question": "q", "context": ["c"]}),
    ("prefixes", fielded(("question", "str", False, "d", "Q:"), ("answer", "str", True, "e", "The Answer =")), [QA], {"question": "q"}),
    ("described and instructed", fielded(("q", "str", False, "  padded  "), ("a", "bool", True, "ünï"), instructions="Do it.\n\nWell."), [], {"q": "x"}),
    ("names", text("camelCaseText, snake_case_text, text2number, HTMLParser, a1b2, X, aB, ABc9d -> parseURLFast, URL, x_"), [], {"HTMLParser": "p"}),
    ("outputs before inputs", fielded(("answer", "str", True), ("question", "str", False)), [], {"question": "q"}),
    ("history", text("question, history: History -> answer"), [QA], {"question": "and now?", "history": {"messages": [{"question": "one", "answer": "1"}, {"question": "two", "answer": "2"}]}}),
    ("history typed", text("history: History, q -> n: int, why"), [], {"q": "x", "history": {"messages": [{"q": "a", "n": 1, "why": "w"}, {"n": 2, "why": "only outputs"}, {"q": "no answer"}]}}),
    ("many demos", text("question -> answer: int"), [{"question": f"{i}+{i}", "answer": 2 * i} for i in range(12)], {"question": "?"}),
]

TEXTS = ["", " ", "x", "two words", "línea\nnext", "  padded  ", "日本 🙂", "it's \"q\"", "{\"k\": 1}", "[1]", "true", "\t", "a\n\nb\n", "[[ ## x ## ]]", "«", "\u00a0nbsp\u00a0", "None"]


def random_type(rng, depth=0):
    simple = ["str", "str", "int", "float", "bool", "Literal['a', 'b c']", "Literal[1, 2]", "Color", "Level", "Person"]
    nested = ["list[{}]", "dict[str, {}]", "Optional[{}]"]
    if depth < 2 and rng.random() < 0.35:
        return rng.choice(nested).format(random_type(rng, depth + 1))
    return rng.choice(simple)


def random_value(rng, kind):
    if kind == "str":
        return rng.choice(TEXTS)
    if kind == "int":
        return rng.randint(-1000, 1000)
    if kind == "float":
        return rng.choice([0.0, -1.5, rng.uniform(-1, 1), 1e20, 3.0])
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "Color":
        return rng.choice(list(Color)).value
    if kind == "Level":
        return rng.choice(list(Level)).value
    if kind == "Person":
        return {"name": rng.choice(TEXTS), "age": rng.randint(0, 99), "tags": [rng.choice(TEXTS)]}
    if kind.startswith("Literal"):
        return rng.choice(annotation(kind).__args__)
    if kind.startswith("Optional["):
        return None if rng.random() < 0.3 else random_value(rng, kind[9:-1])
    if kind.startswith("list["):
        return [random_value(rng, kind[5:-1]) for _ in range(rng.randint(0, 3))]
    return {rng.choice(["k", "ä", "a b"]): random_value(rng, kind[10:-1]) for _ in range(rng.randint(0, 2))}


def random_format_cases(rng, count):
    for number in range(count):
        names = rng.sample(["alpha", "beta_two", "gammaRay", "delta4", "eps", "zeta"], rng.randint(2, 5))
        cut = rng.randint(1, len(names) - 1)
        fields = [[name, random_type(rng), i >= cut] for i, name in enumerate(names)]
        for field in fields:
            if rng.random() < 0.4:
                field.append(rng.choice(["described", "größer\nals", "x: y"]))
        instructions = rng.choice([None, "Do it.", "Line one.\n  Line two.\n\nEnd.", "日本"])
        demos = []
        for _ in range(rng.randint(0, 4)):
            demo = {name: random_value(rng, kind) for name, kind, *_ in fields if rng.random() < 0.85}
            demos.append(demo)
        inputs = {name: random_value(rng, kind) for name, kind, output, *_ in fields if not output}
        yield format_case(f"random {number}", fielded(*fields, instructions=instructions), demos, inputs)


# Without a marker behind white space: dspy 3.4.1 cuts the rest of its line at the wrong place.
MARKED = "[[ ## {} ## ]]\n{}"
PARSE_CASES = [
    ("q -> a", ["[[ ## a ## ]]\nx\n\n[[ ## completed ## ]]", "[[ ## a ## ]] same line", "intro\n[[ ## a ## ]]\n\n  x\ny  \n\n", "[[ ## a ## ]]\nx\n[[ ## a ## ]]\nagain", "{\"a\": \"x\"}", "```json\n{\"a\": \"x\\ny \\u00e9\"}\n```", "Sure: {\"a\": \"x\", \"b\": 1} done", "{\"a\": 4}", "{\"a\": 4.0}", "{\"a\": true}", "{\"a\": null}", "{\"a\": [1, \"b\", null, {\"c\": 1.5}]}", "[[ ## a ## ]]\r\nx\u2028y\r\n", "[[ ## a ## ]]", "[[ ## a ## ]]\nx [[ ## b ## ]] y"]),
    ("q -> a: int, b: str", ["[[ ## a ## ]]\n4\n\n[[ ## b ## ]]\nx\n", "[[ ## b ## ]]\nx\n[[ ## a ## ]]\n-7", "{\"a\": 4, \"b\": \"x\"}", "{\"a\": \"4\", \"b\": 5}", "{\"b\": \"x\", \"a\": 4.0}", "{'a': 4, 'b': 'x'}", "{\"a\": 4, \"b\": \"x\",}", "{\"a\": True, \"b\": None}"]),
    ("q -> n: int", [MARKED.format("n", v) for v in ("4", " 4 ", "-0", "4.0", "+4", "\"4\"", "007", "1e3", "four", "4.5", "")]),
    ("q -> x: float", [MARKED.format("x", v) for v in ("4", "4.5", "-1e-3", "\"2.5\"", "true", "1.0", "x")]),
    ("q -> b: bool", [MARKED.format("b", v) for v in ("True", "true", "False", "yes", "No", "1", "0", "on", "off", "\"true\"", "maybe", "2")]),
    ("q -> l: Literal['good', 'it is', '5', '\"q\"']", [MARKED.format("l", v) for v in ("good", " good ", "'good'", "\"it is\"", "Literal[good]", "Literal['good']", "str['good']", "5", "\"q\"", "bad", "Good")]),
    ("q -> l: Literal[1, 2, True]", [MARKED.format("l", v) for v in ("1", "2", "'2'", "3")] + ["{\"l\": 2}", "{\"l\": \"2\"}"]),
    ("q -> c: Color, v: Level", [MARKED.format("c", c) + "\n\n" + MARKED.format("v", v) for c, v in (("red", "HIGH"), ("DARK_BLUE", "LOW"), ("grün", "LOW"))] + ["{\"c\": \"red\", \"v\": 1}"]),
    ("q -> l: list[str]", [MARKED.format("l", v) for v in ("[\"a\", \"b\"]", "['a', 'b']", "[]", "[\n  \"a\"\n]", "```json\n[\"a\"]\n```", "[\"a\",]")]),
    ("q -> l: list[int], d: dict[str, float]", ["{\"l\": [1, \"2\", 3.0], \"d\": {\"x\": 1, \"y\": \"2.5\"}}", "[[ ## l ## ]]\n[1, 2]\n[[ ## d ## ]]\n{\"x\": 1}"]),
    ("q -> o: Optional[int], s: Optional[str], u: int | str", ["{\"o\": null, \"s\": null, \"u\": 1}", "{\"o\": 5, \"s\": \"None\", \"u\": \"1\"}", "[[ ## o ## ]]\nnull\n[[ ## s ## ]]\nnull\n[[ ## u ## ]]\n1", "[[ ## u ## ]]\nx", "[[ ## o ## ]]\nNone\n[[ ## u ## ]]\n7"]),
    ("q -> p: Person", [MARKED.format("p", "{\"name\": \"Ann\", \"age\": 4}"), MARKED.format("p", "{\"name\": \"Ann\", \"age\": 4.0, \"tags\": [\"x\"]}"), MARKED.format("p", "{'name': 'Ann', 'age': 4}"), "{\"p\": {\"name\": \"Ann\", \"age\": 4}}", MARKED.format("p", "{\"name\": \"Ann\"}")]),
    ("q -> t: Team", ["{\"t\": {\"lead\": {\"name\": \"A\", \"age\": 1}, \"members\": [{\"name\": \"B\", \"age\": 2, \"tags\": []}], \"kind\": \"red\"}}"]),
    ("q -> a: Any", [MARKED.format("a", v) for v in ("{\"k\": [1, 2.5]}", "4", "[]")]),
]


def plain(value):
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def parse_results(signature, answer):
    results = {}
    for name, adapter in (("chat", ChatAdapter()), ("json", JSONAdapter())):
        try:
            results[name] = plain(adapter.parse(signature, answer))
        except Exception:
            results[name] = None
    return results


def parse_cases():
    for spec, answers in PARSE_CASES:
        signature = make_signature(text(spec))
        for answer in answers:
            yield {"signature": spec, "answer": answer, **parse_results(signature, answer)}


def noisy(rng, answer):
    """What models add: words before, a fence, white space, other members, another order of sections."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(["Sure!\n\n", "\n \n", "Here it is: \n"]) + answer
    if kind == 1 and answer.startswith("{"):
        return f"```json\n{answer}\n```"
    if kind == 2:
        return answer.replace("\n\n[[ ## completed ## ]]\n", "")
    if kind == 3 and "[[ ##" in answer:
        sections = answer.split("\n\n[[ ## ")
        return "\n\n[[ ## ".join(sections[:1] + ["other ## ]]\nx"] + sections[1:])
    if kind == 4 and answer.startswith("{"):
        return answer.replace("{", '{"other": [1, {"k": null}], ', 1)
    return answer


def random_parse_cases(rng, count):
    for _ in range(count):
        names = rng.sample(["a", "b_two", "gammaRay", "delta4"], rng.randint(1, 3))
        kinds = [random_type(rng) for _ in names]
        spec = "q -> " + ", ".join(f"{name}: {kind}" for name, kind in zip(names, kinds))
        signature = make_signature(text(spec))
        values = {name: random_value(rng, kind) for name, kind in zip(names, kinds)}
        form = rng.choice(list(ADAPTERS))
        answer = noisy(rng, ADAPTERS[form]().format_assistant_message_content(signature, values))
        results = parse_results(signature, answer)
        # Of another form Python reads optional fields as None, where C++ goes on to that form.
        yield {"signature": spec, "answer": answer, "chat": None, "json": None, form: results[form]}


class Pipeline(dspy.Module):
    def __init__(self):
        super().__init__()
        self.search = dspy.Predict("question -> query")
        self.answer = dspy.ChainOfThought("question, query -> answer: int", )

    def forward(self, question):
        query = self.search(question=question).query
        return self.answer(question=question, query=query)


def add(a: int, b: int = 2) -> int:
    """Adds two numbers.
    The second is 'two' by default."""
    return a + b


def lookup(word: str, languages: list[str]) -> str:
    """Looks a word up."""
    return f"{word} in {', '.join(languages)}"


def tool_specs(tools):
    return [{"name": t.name, "desc": t.desc, "args": t.args} for t in map(dspy.Tool, tools)]


PROGRAMS = {
    "predict": lambda: dspy.Predict("question -> answer: int"),
    "chain_of_thought": lambda: dspy.ChainOfThought("question -> answer: int"),
    "pipeline": Pipeline,
    "react": lambda: dspy.ReAct("question -> answer: int", tools=[add, lookup]),
}
ADAPTERS = {"chat": ChatAdapter, "json": JSONAdapter}


def saved(program):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "state.json"
        program.save(path)
        return json.loads(path.read_text())


def trainset(count):
    return [dspy.Example(question=f"{i}+{i + 1}", answer=2 * i + 1).with_inputs("question") for i in range(count)]


def labels(examples):
    return [dict(example) for example in examples]


def run(program, adapter, replies, inputs):
    """The prompts and the prediction of one call with scripted replies."""
    lm = DummyLM(replies, adapter=ADAPTERS[adapter]())
    with dspy.context(lm=lm, adapter=ADAPTERS[adapter]()):
        prediction = program(**inputs)
    prompts = [{"messages": call["messages"], "reply": call["outputs"][0]} for call in lm.history]
    return {"adapter": adapter, "inputs": inputs, "calls": prompts, "prediction": plain(dict(prediction))}


def same_answer(example, prediction, trace=None):
    return example.answer == prediction.answer


def raw(lm):
    return [call["outputs"][0] for call in lm.history]


def labeled_case(kind, count, k, sample=True):
    compiled = dspy.LabeledFewShot(k=k).compile(PROGRAMS[kind](), trainset=trainset(count), sample=sample)
    return {"program": kind, "optimizer": "labeled", "k": k, "sample": sample, "trainset": labels(trainset(count)),
            "state": saved(compiled), "runs": runs(kind, compiled)}


def runs(kind, program):
    replies = {
        "predict": [{"answer": "8"}],
        "chain_of_thought": [{"reasoning": "Because.", "answer": "8"}],
        "pipeline": [{"query": "sum"}, {"reasoning": "So.", "answer": "8"}],
        "react": [{"next_thought": "Add.", "next_tool_name": "add", "next_tool_args": '{"a": 3, "b": 5}'},
                  {"next_thought": "Look.", "next_tool_name": "lookup", "next_tool_args": '{"word": "acht", "languages": ["de", "ü"]}'},
                  {"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": "{}"},
                  {"reasoning": "Sum.", "answer": "8"}],
    }[kind]
    return [run(program, adapter, replies, {"question": "3+5?"}) for adapter in ADAPTERS]


def bootstrap_case(kind, count, wrong, bootstrapped, labeled):
    replies = []
    for i in range(count):
        answer = {"reasoning": f"Step {i}.", "answer": str(0 if i in wrong else 2 * i + 1)}
        if kind == "pipeline":
            replies.append({"query": f"query {i}"})
        if kind == "predict":
            answer.pop("reasoning")
        replies.append(answer)
    lm = DummyLM(replies)
    optimizer = dspy.BootstrapFewShot(metric=same_answer, max_bootstrapped_demos=bootstrapped, max_labeled_demos=labeled)
    with dspy.context(lm=lm, adapter=ChatAdapter()):
        compiled = optimizer.compile(PROGRAMS[kind](), trainset=trainset(count))
    return {"program": kind, "optimizer": "bootstrap", "max_bootstrapped": bootstrapped, "max_labeled": labeled,
            "trainset": labels(trainset(count)), "replies": raw(lm), "prompts": [c["messages"] for c in lm.history],
            "state": saved(compiled), "runs": runs(kind, compiled)}


def program_cases():
    yield {"program": "react", "optimizer": "none", "state": saved(PROGRAMS["react"]()), "runs": runs("react", PROGRAMS["react"]())}
    yield labeled_case("predict", 5, 3)
    yield labeled_case("predict", 5, 16, sample=False)
    yield labeled_case("chain_of_thought", 100, 4)
    yield labeled_case("chain_of_thought", 40, 16)
    yield labeled_case("pipeline", 12, 3)
    yield bootstrap_case("predict", 8, {0, 2}, 3, 5)
    yield bootstrap_case("chain_of_thought", 12, {1}, 2, 4)
    yield bootstrap_case("chain_of_thought", 4, {0, 1, 2, 3}, 2, 2)
    yield bootstrap_case("pipeline", 6, {0}, 2, 3)


def random_cases():
    for seed in (0, 1, 20261123, 2**40 + 7):
        for count, k in ((1, 1), (5, 5), (10, 3), (21, 5), (22, 5), (100, 4), (100, 16), (1000, 40)):
            rng = random.Random(seed)
            sample = rng.sample(range(count), k)
            order = list(range(count))
            rng.shuffle(order)
            yield {"seed": seed, "count": count, "sample": sample, "shuffled": order[:50], "next": rng.random()}


def write(path, content):
    path.write_text(json.dumps(content, ensure_ascii=False, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size} bytes")


def main():
    if dspy.__version__ != VERSION:
        sys.exit(f"dspy is {dspy.__version__}; these files are made with {VERSION}")
    logging.disable(logging.CRITICAL)
    random.seed(SEED)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cases = [format_case(*case) for case in FORMAT_CASES] + list(random_format_cases(random.Random(SEED), 60))
    write(folder / "format.json", {"dspy": VERSION, "types": named_types(), "cases": cases})
    write(folder / "parse.json", {"dspy": VERSION, "types": named_types(), "cases": list(parse_cases()) + list(random_parse_cases(random.Random(SEED + 1), 400))})
    write(folder / "programs.json", {"dspy": VERSION, "tools": tool_specs([add, lookup]), "cases": list(program_cases())})
    write(folder / "random.json", {"dspy": VERSION, "cases": list(random_cases())})


if __name__ == "__main__":
    main()
