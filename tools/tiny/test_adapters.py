"""The prompts of DSPy's adapters are what dspy itself and our LlamaCppAdapter write."""

import json
from pathlib import Path

from tools.tiny.data.adapters import Field, Signature, messages

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "data" / "dspy" / "format.json"
# The fields that dspy reads in the signatures of golden cases.
CASES = {
    "plain": ([Field("question")], [Field("answer")]),
    "two inputs": ([Field("question"), Field("context")], [Field("answer", "float")]),
    "int": ([Field("question")], [Field("answer", "int")]),
    "float": ([Field("x", "float")], [Field("y", "float")]),
    "bool": ([Field("claim")], [Field("holds", "bool")]),
    "literal": ([Field("t")], [Field.one_of("label", ("good", "bad", "it's"))]),
    "list of texts": ([Field("docs", "list[str]")], [Field("words", "list[str]")]),
    "instructions": ([Field("q")], [Field("a")]),
}


def case(name):
    return next(case for case in json.loads(GOLDEN.read_text())["cases"] if case["name"] == name)


def complete(demo, fields):
    return all(demo.get(f.name) is not None for f in fields)


def test_messages_are_those_of_dspy():
    seen = 0
    for name, (inputs, outputs) in CASES.items():
        golden = case(name)
        s = Signature(tuple(inputs), tuple(outputs), golden["state"]["instructions"])
        assert all(complete(demo, inputs + outputs) for demo in golden["demos"]), name
        for adapter in ("chat", "json"):
            assert messages(adapter, s, golden["demos"], golden["inputs"]) == golden[adapter], (name, adapter)
            seen += len(golden["demos"])
    assert seen >= 8, "demonstrations are compared too"


def test_plain_messages_are_those_of_our_adapter():
    """The expectations of tests/unit/dspy/adapter_test.cpp."""
    s = Signature((Field("question"), Field("context", "list[str]", desc="what is known")), (Field("why"), Field("answer", "int")),
                  "Answer the question.")
    demo = {"question": "1+1", "context": ["a", "b"], "why": "sum", "answer": 2}
    assert messages("plain", s, [demo], {"question": "2+2", "context": ["c"]}) == [
        {"role": "system", "content": "Answer the question.\n\ncontext (list[str]): what is known\nanswer (int)"},
        {"role": "user", "content": "question: 1+1\ncontext: [\"a\", \"b\"]"}, {"role": "assistant", "content": "why: sum\nanswer: 2"},
        {"role": "user", "content": "question: 2+2\ncontext: [\"c\"]"}]
