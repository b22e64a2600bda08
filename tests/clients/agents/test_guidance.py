"""guidance, in its mode for vLLM: it sends grammars in llguidance's form of Lark."""

import re

import guidance
import llguidance
import openai
import pytest
from guidance import assistant, gen, select, user
from guidance.models.experimental import VLLMModel


@pytest.fixture()
def model(url):
    return VLLMModel("default", base_url=url, api_key="none", echo=False)


def asked(model, question="What is the capital of France?"):
    with user():
        model += question
    return model


def test_a_choice_is_captured(model):
    model = asked(model)
    with assistant():
        model += "It is " + select(["Paris", "Rome"], name="city") + "."
    assert model["city"] in ("Paris", "Rome")


def test_patterns_are_captured(model):
    model = asked(model, "How heavy is it?")
    with assistant():
        model += "Weight: " + gen("kilograms", regex="[1-9][0-9]{0,2}") + " kg, because" + gen("why", regex="[a-z ,]{1,40}")
    assert re.fullmatch("[1-9][0-9]{0,2}", model["kilograms"])
    assert re.fullmatch("[a-z ,]{1,40}", model["why"])


@pytest.mark.parametrize("seed", range(5))
def test_a_stop_holds_for_the_library_itself(url, seed):
    """guidance 0.3.1 captures nothing of such an answer, whatever server it has. llguidance's own matcher judges the text."""
    grammar = ("Weight: " + gen("kilograms", regex="[1-9][0-9]{0,2}") + " kg, because" + gen("why", stop=".", regex="[a-z ,]{1,40}") + "!").ll_grammar()
    client = openai.OpenAI(base_url=url, api_key="none")
    answer = client.chat.completions.create(model="default", messages=[{"role": "user", "content": "How heavy is it?"}], seed=seed, extra_body={"guided_grammar": grammar})
    text = answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop" and re.fullmatch(r"Weight: [1-9]\d{0,2} kg, because[a-z ,]{1,40}\.!", text)
    bytewise = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(bytewise, grammar)
    tokens = bytewise.tokenize_str(text)
    assert matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def test_free_text_has_its_limit_of_tokens(model):
    model = asked(model)
    with assistant():
        model += gen("answer", max_tokens=3)
    assert model["answer"]
    assert 1 <= model._get_usage().output_tokens <= 3


def test_a_limit_of_tokens_ends_what_would_go_on(model):
    model = asked(model)
    with assistant():
        model += gen("answer", regex="[a-z ]{200}", max_tokens=3)
    assert model._get_usage().output_tokens == 3


def test_a_schema_gives_its_value(model):
    model = asked(model, "Is Paris in France?")
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"], "additionalProperties": False}
    with assistant():
        model += guidance.json("answer", schema=schema)
    assert re.fullmatch(r'\{\s*"sure":\s*(true|false)\s*\}', model["answer"])


def test_what_the_server_cannot_hold_it_refuses(model):
    model = asked(model)
    with pytest.raises(openai.BadRequestError, match="max_tokens"):
        with assistant():
            model += "It is " + gen("a", max_tokens=4) + "!"
