"""Anthropic's API with its own client: whole and streamed messages, tools, counting, errors."""

import json

import anthropic
import pytest

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
WEATHER = {
    "name": "weather",
    "description": "The weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


@pytest.fixture(scope="module")
def claude(server):
    return anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, timeout=60)


def ask(claude, model_id, **fields):
    body = {"temperature": 0} | fields.pop("extra_body", {})  # recent clients have no argument for it
    return claude.messages.create(**{"model": model_id, "max_tokens": 64, "messages": QUESTION} | fields, extra_body=body)


def test_a_message_is_answered_as_openais_api_answers_it(claude, client, model_id):
    message = ask(claude, model_id)
    same = client.chat.completions.create(model=model_id, messages=QUESTION, temperature=0, max_tokens=64)
    assert "Paris" in message.content[0].text
    assert message.content[0].text == same.choices[0].message.content
    assert (message.type, message.role, message.stop_reason, message.stop_sequence) == ("message", "assistant", "end_turn", None)
    prompt_tokens = message.usage.input_tokens + message.usage.cache_read_input_tokens
    assert prompt_tokens == same.usage.prompt_tokens
    assert message.usage.output_tokens == same.usage.completion_tokens
    assert claude.messages.count_tokens(model=model_id, messages=QUESTION).input_tokens == prompt_tokens


def test_a_stream_builds_the_same_message(claude, model_id):
    whole = ask(claude, model_id)
    with claude.messages.stream(model=model_id, max_tokens=64, messages=QUESTION, extra_body={"temperature": 0}) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert text == message.content[0].text == whole.content[0].text
    assert message.stop_reason == whole.stop_reason
    assert message.usage.output_tokens == whole.usage.output_tokens


def test_what_ended_the_message_is_said(claude, model_id):
    stopped = ask(claude, model_id, stop_sequences=["zzz", "Paris"])
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "Paris")
    assert not any("Paris" in block.text for block in stopped.content)
    assert ask(claude, model_id, max_tokens=1).stop_reason == "max_tokens"


def test_system_and_blocks_reach_the_model(claude, model_id):
    plain = claude.messages.count_tokens(model=model_id, messages=QUESTION).input_tokens
    blocks = [{"role": "user", "content": [{"type": "text", "text": QUESTION[0]["content"]}]}]
    assert claude.messages.count_tokens(model=model_id, messages=blocks).input_tokens == plain
    assert claude.messages.count_tokens(model=model_id, messages=blocks, system="Answer in one word.").input_tokens > plain
    assert ask(claude, model_id, messages=blocks).content[0].text == ask(claude, model_id).content[0].text


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}])
def test_a_forced_call_and_its_result(claude, model_id, choice):
    message = ask(claude, model_id, tools=[WEATHER], tool_choice=choice, max_tokens=200)
    assert message.stop_reason == "tool_use"
    call = message.content[-1]
    assert (call.type, call.name) == ("tool_use", "weather")
    assert call.input["city"] in ("Paris", "Rome")
    history = QUESTION + [
        {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]},
    ]
    assert ask(claude, model_id, messages=history, tools=[WEATHER]).role == "assistant"


def test_a_streamed_call(claude, model_id):
    fields = {"model": model_id, "max_tokens": 200, "messages": QUESTION, "extra_body": {"temperature": 0}, "tools": [WEATHER],
              "tool_choice": {"type": "tool", "name": "weather"}}
    with claude.messages.stream(**fields) as stream:
        pieces = [event.partial_json for event in stream if event.type == "input_json"]
        message = stream.get_final_message()
    assert len(pieces) > 2, "its input arrives as it is written"
    whole = claude.messages.create(**fields)
    assert message.content[-1].input == whole.content[-1].input
    assert message.stop_reason == "tool_use"
    cut = claude.messages.create(**fields | {"max_tokens": 12})
    assert cut.stop_reason == "max_tokens" and not any(block.type == "text" for block in cut.content)


def test_output_that_a_schema_holds(claude, model_id):
    schema = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}
    message = ask(claude, model_id, extra_body={"output_config": {"format": {"type": "json_schema", "schema": schema}}})
    assert json.loads(message.content[0].text)["city"] in ("Paris", "Rome")


def test_errors_are_the_clients_own(claude, model_id):
    with pytest.raises(anthropic.NotFoundError) as missing:
        ask(claude, "no-such-model")
    assert missing.value.body["error"]["type"] == "not_found_error"
    assert missing.value.request_id
    with pytest.raises(anthropic.BadRequestError) as unknown:
        ask(claude, model_id, extra_body={"colour": 1})
    assert "colour" in unknown.value.body["error"]["message"]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    with pytest.raises(anthropic.BadRequestError) as refused:
        ask(claude, model_id, messages=[{"role": "user", "content": [image]}])
    assert "messages[0].content[0].type" in refused.value.body["error"]["message"]
