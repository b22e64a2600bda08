"""Calls one of the offered tools in the Hermes/Qwen form, and answers from its result."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from .arithmetic import held_out_pair
from .exchange import Conversation, Exchange
from .names import CITIES, NAMES, SURNAMES, WORDS, invented
from .split import HELD_OUT, TRAIN, draw, mostly_first
from .tool_catalog import CATALOG, KINDS, LOOKUP_PHRASES, NOUNS, ToolKind


@dataclass
class Request:
    """A tool, a question for it, the arguments that the question names, and what the tool says."""

    tool: dict
    user: str
    arguments: dict
    result: str
    expect: list[str]
    answer: str
    # Another question for the same tool.
    again: Callable[[Random, str], "Request"] | None = None


def _schema(rng: Random, name: str, description: str, params: dict[str, tuple[str, str]], required: list[str]) -> dict:
    described = rng.random() < 0.4
    properties = {}
    for key, (kind, text) in params.items():
        properties[key] = {"type": kind}
        if key == "unit" and rng.random() < 0.7:
            properties[key]["enum"] = ["celsius", "fahrenheit"]
        if described:
            properties[key]["description"] = text
    parameters = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    if rng.random() < 0.1:
        parameters["additionalProperties"] = False
    function = {"name": name, "description": description, "parameters": parameters}
    if rng.random() < 0.05:
        function["strict"] = True
    return {"type": "function", "function": function}


def _answer(rng: Random, values: dict) -> tuple[str, list[str], str]:
    """A tool's reply in one of its usual shapes, and the sentence that hands it on."""
    expect = [str(v) for v in values.values()]
    shape = rng.random()
    if shape < 0.65:
        said = " and ".join(f"the {key.replace('_', ' ')} is {value}" for key, value in values.items())
        return json.dumps(values), expect, said[0].upper() + said[1:] + "."
    if shape < 0.85:
        text = ", ".join(expect)
    else:
        text = " ".join(f"{key.replace('_', ' ')} {value}" for key, value in values.items())
    return text, expect, f"The result is {text}."


def _value(rng: Random, kind: str):
    if kind == "city":
        return rng.choice(CITIES) if rng.random() < 0.8 else invented(rng).capitalize()
    if kind == "person":
        return rng.choice(NAMES) + (" " + rng.choice(SURNAMES) if rng.random() < 0.3 else "")
    if kind == "number":
        return rng.randint(0, 99) if rng.random() < 0.7 else rng.randint(100, 999)
    if kind == "minutes":
        return rng.randint(1, 90)
    if kind == "language":
        return rng.choice("French German Spanish Italian Polish Greek Turkish Japanese Chinese Dutch".split())
    if kind == "currency":
        return rng.choice("USD EUR GBP JPY CHF PLN SEK".split())
    if kind == "code":
        return rng.choice("ABCDEFGHKMNPRSTX") + str(rng.randint(1, 999)) if rng.random() < 0.5 else str(rng.randint(10, 9999))
    if kind == "word":
        return rng.choice(WORDS) if rng.random() < 0.6 else invented(rng)
    if kind == "words":
        return " ".join(rng.choice(WORDS) for _ in range(rng.choice([1, 2, 2, 3])))
    if kind == "weather":
        return rng.choice("sunny rainy cloudy windy snowy foggy clear stormy".split())
    if kind == "clock":
        return f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}"
    if kind == "state":
        return rng.choice("open closed ready late done sent shipped waiting active lost".split())
    raise ValueError(f"no kind of value is named {kind}")


def from_catalog(rng: Random, split: str) -> Request:
    kind: ToolKind = rng.choice(CATALOG)
    keys = {slot: mostly_first(rng, options) for slot, (options, *_rest) in kind.slots.items()}
    ending = rng.choice(["", "", "", ".", " to use", ", e.g. Paris" if "city" in kind.value_kinds() else ""])
    params = {keys[slot]: (json_type, text + ending) for slot, (_k, json_type, _v, text) in kind.slots.items()}
    required = list(params)
    if kind.optional and rng.random() < 0.3:
        params[kind.optional] = ("string", f"The {kind.optional} to use")
    tool = _schema(rng, mostly_first(rng, kind.names), rng.choice(kind.descriptions), params, required)

    def some(r: Random) -> dict:
        values = {slot: _value(r, value) for slot, (_k, _t, value, _d) in kind.slots.items()}
        # The result of an added pair would teach its sum.
        kept = kind.names[0] == "add" and split == TRAIN and held_out_pair(*values.values(), "+")
        return some(r) if kept else values

    def ask(rng: Random, split: str) -> Request:
        values = draw(rng, split, some, lambda v: ("tool", kind.names[0], *v.values()))
        reply = {key: _value(rng, value) for key, value in kind.reply.items()}
        if kind.compute:
            reply = {"result": kind.compute(*values.values())}
        arguments = {keys[slot]: value for slot, value in values.items()}
        return Request(tool, kind.asks.pick(rng, split).format(**values), arguments, *_answer(rng, reply), ask)

    return ask(rng, split)


def lookup(rng: Random, split: str) -> Request:
    """A tool made of two nouns, so that choosing by the words of its name is learned rather than a list of tools."""
    noun, kind = draw(rng, split, lambda r: (r.choice(NOUNS), r.choice(KINDS)), lambda v: ("lookup", *v))
    key = mostly_first(rng, [kind, f"{kind}_id", f"{kind}_name", "id"])
    name = mostly_first(rng, [f"get_{kind}_{noun}", f"get_{noun}", f"lookup_{noun}", f"find_{kind}_{noun}", f"{kind}_{noun}", f"get_{noun}_of_{kind}"])
    description = rng.choice([f"Get the {noun} of a {kind}.", f"Returns the {noun} of the given {kind}", f"Look up the {noun} of a {kind}",
                              f"Find a {kind}'s {noun}"])
    tool = _schema(rng, name, description, {key: ("string", f"The {kind}")}, [key])

    def ask(rng: Random, split: str) -> Request:
        value = str(_value(rng, rng.choice(["code", "word", "person"])))
        user = LOOKUP_PHRASES.pick(rng, split).format(n=noun, k=kind, v=value)
        return Request(tool, user, {key: value}, *_answer(rng, {noun: _value(rng, rng.choice(["number", "state", "word", "clock"]))}), ask)

    return ask(rng, split)


def request(rng: Random, split: str) -> Request:
    return lookup(rng, split) if rng.random() < 0.25 else from_catalog(rng, split)


def offer(rng: Random, requests: list[Request], split: str) -> list[dict]:
    """Adds requests for other tools (mostly one) to the first; returns all their tools in any order."""
    for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 2])):
        other = request(rng, split)
        if all(other.tool["function"][key] != known.tool["function"][key] for known in requests for key in ("name", "description")):
            requests.append(other)
    tools = [known.tool for known in requests]
    rng.shuffle(tools)
    return tools


def make(rng: Random, split: str, plain: Exchange, system: str | None) -> Conversation:
    """Some turns on one list of tools: a call, mostly with its result and the answer, or `plain`, a question that needs no tool."""
    requests = [request(rng, split)]
    tools = offer(rng, requests, split)
    messages: list[dict] = [{"role": "system", "content": system}] if system else []
    judged = []
    turns = rng.choice([1, 1, 1, 2, 3] if split == HELD_OUT else [1, 2, 3, 4, 5])
    plain_turn = rng.randrange(turns) if rng.random() < 0.25 else None
    for turn in range(turns):
        if turn == plain_turn:
            messages += [{"role": "user", "content": plain.user}, {"role": "assistant", "content": plain.answer}]
            judged.append((len(messages) - 1, plain.rule, plain.expect or [plain.answer], "tool_not_needed"))
            continue
        wanted = rng.choice(requests)
        requests.append(wanted.again(rng, split))
        requests.remove(wanted)
        call = {"name": wanted.tool["function"]["name"], "arguments": wanted.arguments}
        messages += [{"role": "user", "content": wanted.user},
                     {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": call}]}]
        judged.append((len(messages) - 1, "tool", [json.dumps(call)], "tool_call"))
        messages += [{"role": "tool", "content": wanted.result}, {"role": "assistant", "content": wanted.answer}]
        judged.append((len(messages) - 1, "contains", wanted.expect, "tool_answer"))
    return Conversation(messages, tools, judged)
