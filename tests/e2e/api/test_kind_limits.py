"""Limits that are people's, and the rest of OpenAI's fields: what is sent has its effect, or is listed as having none."""

import pytest
import requests

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


def post(server, path="/v1/chat/completions", **fields):
    return requests.post(server.url + path, json=({"messages": QUESTION} if "chat" in path else {}) | fields, timeout=60)


@pytest.mark.parametrize("limit", [-1, 5000, 1 << 40])
def test_too_many_tokens_mean_the_rest_of_the_context_and_that_is_said(server, limit):
    answer = post(server, max_tokens=limit, temperature=0)
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    assert int(answer.headers["x-inferflux-max-tokens"]) == 2048 - answer.json()["usage"]["prompt_tokens"]
    assert "x-inferflux-max-tokens" in post(server, max_tokens=limit, stream=True).headers
    assert "x-inferflux-max-tokens" not in post(server, max_tokens=20).headers


def test_stops(client, model_id):
    def ask(stop):
        return client.chat.completions.create(model=model_id, messages=QUESTION, temperature=0, stop=stop).choices[0].message.content
    assert "Paris" in ask("") and "Paris" in ask([])
    assert "Paris" not in ask([f"never{i}" for i in range(63)] + ["Paris"])


def test_top_k_may_be_switched_off_as_elsewhere(client, model_id):
    fields = {"model": model_id, "messages": QUESTION, "seed": 5, "temperature": 1.5, "max_tokens": 20}
    off, zero = (client.chat.completions.create(**fields, extra_body={"top_k": k}).choices[0].message.content for k in (-1, 0))
    assert off == zero


def test_best_of_keeps_the_likeliest(client, model_id):
    fields = {"model": model_id, "prompt": "Once upon a time", "seed": 3, "temperature": 1.8, "max_tokens": 12, "logprobs": 0}
    made = client.completions.create(**fields, n=6)
    best = client.completions.create(**fields, n=2, best_of=6)

    def mean(choice):
        return sum(choice.logprobs.token_logprobs) / len(choice.logprobs.token_logprobs)
    wanted = [choice.text for choice in sorted(made.choices, key=mean, reverse=True)[:2]]
    assert [choice.text for choice in best.choices] == wanted
    assert best.usage.completion_tokens == made.usage.completion_tokens, "all answers were made"


def test_usage_in_every_chunk(client, model_id):
    chunks = list(client.chat.completions.create(model=model_id, messages=QUESTION, temperature=0, stream=True,
                                                 stream_options={"include_usage": True, "continuous_usage_stats": True}))
    counts = [chunk.usage.completion_tokens for chunk in chunks]
    assert counts == sorted(counts) and counts[0] == 0
    assert all(chunk.usage.prompt_tokens == chunks[-1].usage.prompt_tokens for chunk in chunks)


def test_a_cache_key_divides_the_cache(client, model_id):
    prompt = "A sentence that is long enough to fill a block of the cache, again and again, for prompt cache keys. " * 3
    def cached(key):
        usage = client.completions.create(model=model_id, prompt=prompt, max_tokens=1, extra_body={"prompt_cache_key": key}).usage
        return usage.prompt_tokens_details.cached_tokens
    assert cached("a") == 0 and cached("a") > 0
    assert cached("b") == 0, "another key's prompt is not used"


def test_only_allowed_tools_are_called(client, model_id):
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}} for name in ("f", "g")]
    answer = client.chat.completions.create(model=model_id, messages=QUESTION, tools=tools, temperature=0, tool_choice={
        "type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "g"}}]}})
    assert {call.function.name for call in answer.choices[0].message.tool_calls} == {"g"}


@pytest.mark.parametrize("field, value, words", [
    ("guided_choice", ["a"], "structured_outputs.choice"), ("n_predict", 5, "max_tokens"), ("repeat_penalty", 1.1, "repetition_penalty"),
    ("options", {}, "temperature"), ("temprature", 1, "did you mean 'temperature'"), ("max_token", 1, "did you mean 'max_tokens'")])
def test_an_unknown_field_is_named_with_the_right_one(server, field, value, words):
    answer = post(server, **{field: value})
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


@pytest.mark.parametrize("path, field, words", [
    ("/v1/responses", "max_tokens", "here it is 'max_output_tokens'"), ("/v1/responses", "messages", "here it is 'input'"),
    ("/v1/messages", "stop", "here it is 'stop_sequences'"), ("/v1/messages", "max_token", "did you mean 'max_tokens'"),
    ("/api/chat", "temperature", "here it is 'options.temperature'"), ("/v1/embeddings", "dims", "here it is 'dimensions'"),
    ("/v1/completions", "messages", "here it is 'prompt'"), ("/v1/rerank", "docs", "here it is 'documents'"),
    ("/v1/chat/completions", "system", "a message with the role")])
def test_the_right_field_is_that_of_the_endpoint(server, path, field, words):
    answer = requests.post(server.url + path, json={field: 1})
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert words in (error if isinstance(error, str) else error["message"])


def test_what_cannot_change_the_text_is_accepted(client, model_id):
    plain = client.chat.completions.create(model=model_id, messages=QUESTION, temperature=0)
    kind = client.chat.completions.create(model=model_id, messages=QUESTION, temperature=0, store=True, metadata={"a": "b"}, service_tier="flex",
                                          safety_identifier="x", verbosity="low", reasoning_effort="medium")
    assert kind.choices[0].message.content == plain.choices[0].message.content


def test_a_history_may_hold_arguments_as_an_object(client, model_id):
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
    history = QUESTION + [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "call_1", "content": "1"}]
    assert client.chat.completions.create(model=model_id, messages=history, max_tokens=4).choices


def test_marks_of_other_services_caches_have_no_effect(client, model_id):
    mark = {"cache_control": {"type": "ephemeral"}}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    parts = [{"role": "user", "content": [{"type": "text", "text": QUESTION[0]["content"]}]}]
    plain = client.chat.completions.create(model=model_id, messages=parts, tools=[tool], temperature=0)
    parts[0]["content"][0] |= mark
    marked = client.chat.completions.create(model=model_id, messages=[parts[0] | mark], tools=[tool | mark], temperature=0)
    assert marked.choices[0].message.content == plain.choices[0].message.content
    assert marked.usage.prompt_tokens == plain.usage.prompt_tokens, "the model does not see them"
