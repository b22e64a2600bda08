"""What the bundled model can do through DSPy's prompts: sums that it was never taught, and labels that only examples reveal."""

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from server_process import ROOT

sys.path.insert(0, str(ROOT))
from tools.tiny.data import held_out_sums, sentiment  # noqa: E402
from tools.tiny.data.adapters import ADAPTERS, Field, assistant, messages, signature  # noqa: E402
from tools.tiny.data.split import HELD_OUT, TRAIN  # noqa: E402

PAIRS = sorted({order for a, b in held_out_sums.listed() for order in ((a, b), (b, a))})
ANSWER = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"], "additionalProperties": False}
TEXT_ANSWER = {**ANSWER, "properties": {"answer": {"type": "string"}}}


def schema(kind):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": ANSWER if kind == "int" else TEXT_ANSWER}}


# What each adapter asks the server to enforce, as src/dspy/adapters/answer_grammar.cpp does.
INT = '"-"? ("0" | [1-9] [0-9]{0,17})'
GRAMMARS = {"chat": f'root ::= "[[ ## answer ## ]]\\n" {INT} "\\n\\n[[ ## completed ## ]]"', "plain": f'root ::= "answer: " {INT}'}


def constraint(adapter, kind):
    if adapter == "json":
        return {"response_format": schema(kind)}
    return {"extra_body": {"grammar": GRAMMARS[adapter]}} if kind == "int" else {}


def complete(client, conversations, **fields):
    def one(turns):
        reply = client.chat.completions.create(model="default", messages=turns, temperature=0, max_tokens=60, **fields)
        return reply.choices[0].message.content.strip()
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(one, conversations))


@pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_held_out_sums_are_right_with_each_adapter(client, adapter, kind, constrained):
    s = signature([Field("question")], [Field("answer", kind)])
    pairs = [*PAIRS, (2, 2)]
    texts = complete(client, [messages(adapter, s, [], {"question": f"What is {a}+{b}?"}) for a, b in pairs],
                     **(constraint(adapter, kind) if constrained else {}))
    values = [{"answer": a + b if kind == "int" else str(a + b)} for a, b in pairs]
    if adapter == "json":
        right = [text.startswith("{") and json.loads(text) == value for text, value in zip(texts, values)]
    else:
        right = [text == assistant(adapter, s, value, False) for text, value in zip(texts, values)]
    assert right[-1], f"2+2: {texts[-1]}"
    assert sum(right) >= 0.9 * len(pairs), [text for text, ok in zip(texts, right) if not ok]


def test_a_schema_takes_the_sum_from_a_plain_question(client):
    pairs = [*PAIRS, (2, 2)]
    texts = complete(client, [[{"role": "user", "content": f"What is {a}+{b}?"}] for a, b in pairs], response_format=schema("int"))
    right = [json.loads(text) == {"answer": a + b} for text, (a, b) in zip(texts, pairs)]
    assert right[-1], f"2+2: {texts[-1]}"
    assert sum(right) >= 0.9 * len(pairs), [text for text, ok in zip(texts, right) if not ok]


def reviews(seed, split, count):
    rng = random.Random(seed)
    return [dict(zip(("review", "label"), sentiment.review(rng, split))) for _ in range(count)]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_examples_reveal_a_set_of_labels(client, adapter):
    """Without examples nothing says that a good review is `great` and a bad one `poor`: no training text has these labels."""
    s = signature([Field("review")], [Field("label")])
    named = {"positive": "great", "negative": "poor"}
    demos = [{**one, "label": named[one["label"]]} for one in reviews(1, TRAIN, 6)]
    assert {demo["label"] for demo in demos} == {"great", "poor"}
    asked = reviews(2, HELD_OUT, 60)

    def accuracy(shown):
        texts = complete(client, [messages(adapter, s, shown, one) for one in asked])
        return sum(text == assistant(adapter, s, {"label": named[one["label"]]}, False) for text, one in zip(texts, asked)) / len(asked)

    plain, shown = accuracy([]), accuracy(demos)
    assert shown >= 0.8 and shown >= plain + 0.5, (plain, shown)
