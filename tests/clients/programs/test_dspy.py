"""Stanford's dspy. The embedded model is too small to reason: what is shown is the protocol and the parsed types."""

import dspy
import pytest


@pytest.fixture()
def language_model(url):
    lm = dspy.LM("openai/default", api_base=url, api_key="none", temperature=0, max_tokens=96, cache=False, num_retries=0)
    with dspy.context(lm=lm):
        yield lm


def test_a_call_returns_text(language_model):
    assert "Paris" in language_model("What is the capital of France?")[0]


def test_predict_finds_the_fields_that_the_model_marks(language_model):
    answer = dspy.ChainOfThought("text -> result")(text="I love this film, it is wonderful.")
    assert answer.result == "positive"
    assert answer.reasoning
    assert language_model.history[-1]["usage"]["completion_tokens"] > 0


def test_a_json_schema_gives_typed_fields(language_model):
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"], "additionalProperties": False}
    held = language_model.copy(response_format={"type": "json_schema", "json_schema": {"name": "out", "schema": schema}})
    with dspy.context(lm=held, adapter=dspy.JSONAdapter()):
        answer = dspy.Predict("question -> sure: bool")(question="Is Paris in France?")
    assert isinstance(answer.sure, bool)
