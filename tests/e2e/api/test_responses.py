"""OpenAI's Responses and Conversations with its own client: text, items, tools, formats, streams, what is stored."""

import hashlib
import json
import time

import openai
import pytest
import requests
from server_process import ServerProcess, eventually

QUESTION = "What is the capital of France?"
WEATHER = {"type": "function", "name": "weather", "description": "The weather of a city.", "strict": False, "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}}
CITY = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}


def ask(client, model_id, given=QUESTION, **fields):
    return client.responses.create(model=model_id, input=given, temperature=0, **fields)


def test_a_response_is_what_a_chat_answers(client, model_id):
    response = ask(client, model_id)
    chat = client.chat.completions.create(model=model_id, messages=[{"role": "user", "content": QUESTION}], temperature=0)
    assert response.output_text == chat.choices[0].message.content
    assert (response.status, response.error, response.incomplete_details) == ("completed", None, None)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (chat.usage.prompt_tokens, chat.usage.completion_tokens)
    parts = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    assert ask(client, model_id, parts).output_text == response.output_text
    assert ask(client, model_id, instructions="Answer in one word.").usage.input_tokens > response.usage.input_tokens


def test_a_stream_builds_the_same_response(client, model_id):
    events = list(ask(client, model_id, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    names = [event.type for event in events]
    assert names[:4] == ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"]
    assert names[-4:] == ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == events[-1].response.output_text == ask(client, model_id).output_text
    with client.responses.stream(model=model_id, input=QUESTION, temperature=0) as stream:
        assert stream.get_final_response().output_text == text


def test_a_cut_response_is_incomplete(client, model_id):
    response = ask(client, model_id, max_output_tokens=2)
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert list(ask(client, model_id, max_output_tokens=2, stream=True))[-1].type == "response.incomplete"


def test_tools_and_their_results(client, model_id):
    response = ask(client, model_id, "What is the weather in Paris?", tools=[WEATHER], tool_choice="required")
    call = next(item for item in response.output if item.type == "function_call")
    assert call.name == "weather" and json.loads(call.arguments)["city"] in ("Paris", "Rome")
    answer = ask(client, model_id, [{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}], tools=[WEATHER],
                 previous_response_id=response.id)
    assert "sunny" in answer.output_text
    history = [{"role": "user", "content": "What is the weather in Paris?"}, *[item.model_dump(exclude_none=True) for item in response.output],
               {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}]
    assert ask(client, model_id, history, tools=[WEATHER]).output_text == answer.output_text
    events = list(ask(client, model_id, "What is the weather in Paris?", tools=[WEATHER], tool_choice={"type": "function", "name": "weather"}, stream=True))
    [done] = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert json.loads(done.arguments)["city"] in ("Paris", "Rome")
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert len(deltas) > 2 and "".join(deltas) == done.arguments == events[-1].response.output[-1].arguments


def test_a_format_constrains_the_text(client, model_id):
    response = ask(client, model_id, text={"format": {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}})
    assert json.loads(response.output_text)["city"] in ("Paris", "Rome")


def test_log_probabilities(client, model_id):
    response = ask(client, model_id, include=["message.output_text.logprobs"], top_logprobs=2, max_output_tokens=3)
    logprobs = response.output[0].content[0].logprobs
    assert len(logprobs) == 3 and len(logprobs[0].top_logprobs) == 2


def test_responses_are_stored_continued_and_deleted(client, model_id):
    first = ask(client, model_id, "My name is Tom.", metadata={"a": "b"})
    kept = client.responses.retrieve(first.id)
    assert kept.output_text == first.output_text and kept.metadata == {"a": "b"}
    second = ask(client, model_id, "What is my name?", previous_response_id=first.id)
    chat = client.chat.completions.create(model=model_id, temperature=0, messages=[
        {"role": "user", "content": "My name is Tom."}, {"role": "assistant", "content": first.output_text},
        {"role": "user", "content": "What is my name?"}])
    assert second.output_text == chat.choices[0].message.content
    assert second.previous_response_id == first.id
    [item] = client.responses.input_items.list(second.id).data
    assert item.content[0].text == "What is my name?"
    client.responses.delete(first.id)
    for call in (lambda: client.responses.retrieve(first.id), lambda: client.responses.delete(first.id),
                 lambda: ask(client, model_id, previous_response_id=first.id)):
        with pytest.raises(openai.NotFoundError):
            call()
    unstored = ask(client, model_id, store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(unstored.id)


def await_end(client, response, seconds=30):
    until = time.monotonic() + seconds
    while response.status in ("queued", "in_progress") and time.monotonic() < until:
        time.sleep(0.05)
        response = client.responses.retrieve(response.id)
    return response


def test_a_response_in_the_background(client, model_id):
    started = ask(client, model_id, background=True)
    assert started.status == "in_progress" and started.output == []
    ended = await_end(client, started)
    assert (ended.status, ended.output_text) == ("completed", ask(client, model_id).output_text)
    with pytest.raises(openai.BadRequestError):
        client.responses.cancel(ask(client, model_id).id)


def test_a_background_response_is_cancelled(server, client, model_id):
    long = ask(client, model_id, "Tell me a story.", background=True, max_output_tokens=1900, extra_body={"logit_bias": {"2": -100, "0": -100}})
    cancelled = client.responses.cancel(long.id)
    assert cancelled.status == "cancelled"
    time.sleep(0.3)
    assert client.responses.retrieve(long.id).status == "cancelled"
    assert server.metric("inferflux_running_sequences") == 0


def test_a_stream_in_the_background_can_be_left_and_resumed(server, client, model_id):
    left = []
    with ask(client, model_id, background=True, stream=True) as stream:
        for event in stream:
            left.append(event)
            if len(left) == 4:
                break
    id = left[0].response.id
    rest = list(client.responses.retrieve(id, stream=True, starting_after=left[-1].sequence_number))
    assert [event.sequence_number for event in left + rest] == list(range(len(left + rest)))
    assert rest[-1].type == "response.completed" and rest[-1].response.output_text == ask(client, model_id).output_text
    kept = client.responses.retrieve(id)
    assert kept.output_text == rest[-1].response.output_text
    again = list(client.responses.retrieve(id, stream=True))
    assert [event.model_dump() for event in again] == [event.model_dump() for event in left + rest], "kept with the response"
    assert list(client.responses.retrieve(id, stream=True, starting_after=len(again) - 1)) == []
    for path, param in ((f"{id}?stream=true&starting_after=x", "starting_after"), (f"{ask(client, model_id).id}?stream=true", "stream")):
        refused = requests.get(f"{server.url}/v1/responses/{path}", timeout=20)
        assert refused.status_code == 400 and refused.json()["error"]["param"] == param
    client.responses.delete(id)
    assert requests.get(f"{server.url}/v1/responses/{id}?stream=true", timeout=20).status_code == 404


def test_a_cancelled_stream_in_the_background_ends(server, client, model_id):
    with ask(client, model_id, "Tell me a story.", background=True, stream=True, max_output_tokens=1900,
             extra_body={"logit_bias": {"2": -100, "0": -100}}) as stream:
        first = next(iter(stream))
        client.responses.cancel(first.response.id)
        last = list(stream)[-1]
    assert last.type == "error"
    assert client.responses.retrieve(first.response.id).status == "cancelled"
    assert eventually(lambda: server.metric("inferflux_running_sequences") == 0)


def test_items_of_a_conversation_by_their_ids(client):
    conversation = client.conversations.create(items=[{"type": "message", "role": "user", "content": text} for text in ("One.", "Two.")])
    first, second = client.conversations.items.list(conversation.id, order="asc").data
    assert client.conversations.items.retrieve(first.id, conversation_id=conversation.id).content[0].text == "One."
    assert client.conversations.items.delete(first.id, conversation_id=conversation.id).id == conversation.id
    assert [item.id for item in client.conversations.items.list(conversation.id).data] == [second.id]
    for call in (client.conversations.items.retrieve, client.conversations.items.delete):
        with pytest.raises(openai.NotFoundError):
            call(first.id, conversation_id=conversation.id)
        with pytest.raises(openai.NotFoundError):
            call(second.id, conversation_id="conv_none")


def test_a_conversation_grows(client, model_id):
    conversation = client.conversations.create(items=[{"type": "message", "role": "user", "content": "My name is Tom."}], metadata={"k": "v"})
    response = ask(client, model_id, "What is my name?", conversation=conversation.id)
    items = client.conversations.items.list(conversation.id, order="asc").data
    assert [item.role for item in items] == ["user", "user", "assistant"]
    assert items[-1].content[0].text == response.output_text
    client.conversations.items.create(conversation.id, items=[{"role": "user", "content": "Thank you."}])
    page = client.conversations.items.list(conversation.id, limit=2)
    assert len(page.data) == 2 and page.has_more
    assert client.conversations.update(conversation.id, metadata={"k": "w"}).metadata == {"k": "w"}
    assert client.conversations.retrieve(conversation.id).metadata == {"k": "w"}
    assert client.conversations.delete(conversation.id).deleted
    with pytest.raises(openai.NotFoundError):
        ask(client, model_id, conversation=conversation.id)


@pytest.mark.parametrize("fields, param", [
    ({"input": []}, "input"), ({"input": [{"role": "user"}]}, "input[0].content"), ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
    ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "input[0].content[0].type"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"), ({"truncation": "auto"}, "truncation"), ({"colour": 1}, "colour"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type"), ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
    ({"background": True, "store": False}, "background"), ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"tool_choice": "always"}, "tool_choice"), ({"include": ["everything"]}, "include[0]"), ({"temperature": 3}, "temperature")])
def test_what_is_wrong_is_named(server, fields, param):
    answer = requests.post(server.url + "/v1/responses", json={"input": "Hi"} | fields, timeout=60)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param


def test_a_file_keeps_responses_and_keys_see_their_own(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("".join(hashlib.sha256(key.encode()).hexdigest() + "\n" for key in ("one", "two")))
    flags = ("--server-store-file", str(tmp_path / "store.db"), "--server-api-keys-file", str(keys))

    def clients(server):
        return [openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0, timeout=60) for key in ("one", "two")]
    with ServerProcess(*flags) as server:
        mine, other = clients(server)
        response = mine.responses.create(model="default", input=QUESTION, temperature=0)
        with pytest.raises(openai.NotFoundError):
            other.responses.retrieve(response.id)
        with pytest.raises(openai.NotFoundError):
            other.responses.create(model="default", input="Hi", previous_response_id=response.id)
    with ServerProcess(*flags) as server:
        mine, other = clients(server)
        assert mine.responses.retrieve(response.id).output_text == response.output_text
        with pytest.raises(openai.NotFoundError):
            other.responses.delete(response.id)
