"""The held-out sums are the ones that the seed gives, and no training text holds one."""

import json
import re
from itertools import islice
from random import Random

from tools.tiny import chatml
from tools.tiny.data import arithmetic, held_out_sums
from tools.tiny.data.chat import KINDS, conversations
from tools.tiny.data.split import SPLITS, TRAIN
from tools.tiny.data.tool_catalog import CATALOG

NUMBER = r"(?<![\d.:\-])(\d+)(?!\d|[.:]\d)"
ADD = next(tool for tool in CATALOG if tool.names[0] == "add")


def patterns():
    """Every phrasing of a sum, in questions, answers and calls of tools."""
    templates = [p for split in SPLITS for phrases in (arithmetic.SUMS, ADD.asks) for p in phrases.of(split)]
    for template in sorted(set(templates)):
        # Marks at the ends are left out: careless spelling drops them.
        text = re.escape(template.lower().strip("?.!= ")).replace(r"\{a\}", NUMBER).replace(r"\{b\}", NUMBER)
        yield re.compile(text)
    yield re.compile(rf"add {NUMBER} and {NUMBER}")
    yield re.compile(rf"{NUMBER}\s*(?:\+|plus)\s*{NUMBER}")
    yield re.compile(rf"\"(?:a|x|first)\": {NUMBER}, \"(?:b|y|second)\": {NUMBER}")


def sums_in(text, patterns):
    for pattern in patterns:
        for a, b in pattern.findall(text.lower()):
            if max(int(a), int(b)) <= held_out_sums.MOST:
                yield int(a), int(b)


def test_the_list_is_what_the_seed_gives():
    assert json.loads(held_out_sums.FILE.read_text()) == held_out_sums.choose()
    pairs = held_out_sums.listed()
    assert len(pairs) == round(0.2 * 21 * 22 / 2) and all(0 <= a <= b <= 20 for a, b in pairs)
    assert held_out_sums.listed("never_trained") < pairs
    assert held_out_sums.contains(20, 7) == held_out_sums.contains(7, 20)


def test_the_search_finds_each_phrasing():
    every = list(patterns())
    for split in SPLITS:
        for phrase in arithmetic.SUMS.of(split):
            found = {tuple(sorted(pair)) for pair in sums_in(phrase.format(a=12, b=7), every)}
            assert found == {(7, 12)}, phrase
    assert (3, 4) in set(sums_in('<tool_call>\n{"name": "add", "arguments": {"a": 3, "b": 4}}', every))


def test_no_training_text_holds_one():
    every, trained = list(patterns()), set()
    multiplied = re.compile(rf"(?:multiply|product)[^<]*?{NUMBER}[^<]*?{NUMBER}|\"name\": \"multiply[^<]*")
    for conversation in islice(conversations(21, TRAIN), 12000):
        text = multiplied.sub("", chatml.render(conversation).lower())
        for a, b in sums_in(text, every):
            assert not held_out_sums.contains(a, b), (a, b, text)
            trained.add((min(a, b), max(a, b)))
    assert len(trained) == 231 - 46, "every other pair is trained"


def test_every_kind_of_conversation_keeps_them_out():
    every = list(patterns())
    for kind in KINDS:
        rng = Random(f"sums of {kind.__name__}")
        for _ in range(400):
            text = chatml.render(kind(rng, TRAIN))
            if "multiply" not in text.lower():
                assert not any(held_out_sums.contains(a, b) for a, b in sums_in(text, every)), text
