"""The real client forces tool calls and constrains their arguments to a schema. The small model would often do otherwise."""

import json
from functools import partial

import jsonschema
import openai
import pytest
from streamed_calls import check_stream, joined_calls

CITY = {"type": "object", "properties": {"city": {"enum": ["Paris", "Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["city", "days"], "additionalProperties": False}
WORD = {"type": "object", "properties": {"word": {"type": "string", "pattern": "^[a-z]{2,8}$"}}, "required": ["word"], "additionalProperties": False}
SCHEMAS = {"get_forecast": CITY, "look_up": WORD, "ring": {"type": "object", "properties": {}, "additionalProperties": False}}
POEM = [{"role": "user", "content": "Say hello."}]


def tool(name, **more):
    parameters = {} if name == "ring" else {"parameters": SCHEMAS[name]}
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", **parameters, **more}}


TOOLS = [tool("get_forecast"), tool("look_up"), tool("ring")]


def ask(client, **more):
    return client.chat.completions.create(**{"model": "default", "messages": POEM, "max_tokens": 400, "tools": TOOLS, **more})


def check(choice, several):
    assert choice.finish_reason == "tool_calls" and choice.message.content is None
    calls = choice.message.tool_calls
    assert len(calls) >= 1 if several else len(calls) == 1
    for call in calls:
        jsonschema.validate(json.loads(call.function.arguments), SCHEMAS[call.function.name])
    return [call.function.name for call in calls]


def test_without_force_the_model_just_answers(client):
    choice = ask(client, temperature=0).choices[0]
    assert choice.message.tool_calls is None and choice.message.content


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_named_function_is_called_once(client, name):
    for sampling in ({"temperature": 0}, {"temperature": 2, "seed": 3}):
        choice = ask(client, tool_choice={"type": "function", "function": {"name": name}}, **sampling).choices[0]
        assert check(choice, several=False) == [name]


def test_required_calls_something_and_parallel_false_only_one(client):
    names, many = set(), False
    for seed in range(0, 24, 4):
        for choice in ask(client, tool_choice="required", parallel_tool_calls=False, temperature=1.5, seed=seed, n=4).choices:
            names.update(check(choice, several=False))
        choice = ask(client, tool_choice="required", temperature=1.5, seed=seed).choices[0]
        if choice.finish_reason != "length":
            many = many or len(check(choice, several=True)) > 1
    assert len(names) > 1, "the model chooses"


def test_a_stream_has_the_same_call(client):
    choice = {"type": "function", "function": {"name": "get_forecast"}}
    check_stream(partial(ask, client), tool_choice=choice, temperature=0)


def test_a_forced_call_that_is_cut_leaks_no_markup(client):
    """At every length, streamed or not: the arguments are the beginning of the whole call's, and no text comes."""
    force = {"tool_choice": {"type": "function", "function": {"name": "get_forecast"}}, "temperature": 0}
    whole = ask(client, **force).choices[0].message.tool_calls[0].function.arguments
    cut = 0
    for limit in range(1, 40, 3):
        choice = ask(client, max_tokens=limit, **force).choices[0]
        if choice.finish_reason != "length":
            break
        calls = choice.message.tool_calls or []
        assert not choice.message.content and len(calls) <= 1
        assert all(call.function.name == "get_forecast" and whole.startswith(call.function.arguments) for call in calls)
        chunks = [chunk.choices[0] for chunk in ask(client, max_tokens=limit, stream=True, **force)]
        assert not "".join(chunk.delta.content or "" for chunk in chunks)
        assert [call[2] for call in joined_calls(chunks)] == [call.function.arguments for call in calls]
        cut += len(calls)
    assert cut > 2


def test_strict_tools_are_held_to_their_schema_and_text_stays_free(client):
    strict = [tool("get_forecast", strict=True), tool("look_up", strict=True)]
    assert ask(client, tools=strict, temperature=0).choices[0].message.content == ask(client, temperature=0, tools=strict[:1]).choices[0].message.content
    called = 0
    question = [{"role": "user", "content": "What is the weather in Paris?"}]
    for seed in range(12):
        for parallel in (True, False):
            choice = ask(client, messages=question, tools=strict, temperature=1, seed=seed, parallel_tool_calls=parallel).choices[0]
            calls = choice.message.tool_calls or []
            assert "<tool_call>" not in (choice.message.content or "") or choice.finish_reason == "length"
            assert parallel or len(calls) <= 1
            for call in calls:
                jsonschema.validate(json.loads(call.function.arguments), SCHEMAS[call.function.name])
            called += len(calls)
    assert called > 6, "it was taught to call tools for such questions"


def test_none_never_calls(client):
    for seed in range(6):
        choice = ask(client, messages=[{"role": "user", "content": "What is the weather in Paris?"}], tool_choice="none", temperature=1, seed=seed).choices[0]
        assert choice.message.tool_calls is None and choice.finish_reason != "tool_calls"


def test_parsed_with_pydantic(client):
    """The client's own helper sends strict tools and parses the reply."""
    import pydantic

    class Booking(pydantic.BaseModel):
        city: str = pydantic.Field(max_length=12)
        nights: int = pydantic.Field(ge=1, le=30)

    answer = client.chat.completions.parse(model="default", messages=POEM, temperature=0, max_tokens=300, tools=[openai.pydantic_function_tool(Booking)],
                                           tool_choice="required", parallel_tool_calls=False)
    booking = answer.choices[0].message.tool_calls[0].function.parsed_arguments
    assert isinstance(booking, Booking) and 1 <= booking.nights <= 30


@pytest.mark.parametrize("fields, param", [
    ({"tool_choice": "required", "tools": openai.NOT_GIVEN}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "other"}}}, "tool_choice"),
    ({"tool_choice": "required", "response_format": {"type": "json_object"}}, "response_format"),
    ({"tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "unevaluatedItems": {"type": "null"}}}}]}, "tools")])
def test_what_cannot_be_is_refused(client, fields, param):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, **fields)
    assert refused.value.param == param
