"""Ollama's API with its own client: chats, generations, embeddings, models, and what this server does not do."""

import json

import ollama
import pytest
import requests

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0}
CITY = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}


@pytest.fixture(scope="module")
def llama(server):
    return ollama.Client(host=server.url, timeout=60)


def weather(city: str) -> str:
    """The weather of a city.

    Args:
      city: the name of the city
    """
    return "sunny in " + city


def test_a_chat_is_answered_as_openais_api_answers_it(llama, client, model_id):
    answer = llama.chat(model_id, QUESTION, options=GREEDY)
    same = client.chat.completions.create(model=model_id, messages=QUESTION, temperature=0)
    assert answer.message.content == same.choices[0].message.content
    assert (answer.done, answer.done_reason) == (True, "stop")
    assert (answer.prompt_eval_count, answer.eval_count) == (same.usage.prompt_tokens, same.usage.completion_tokens)
    assert answer.total_duration > 0


def test_a_stream_has_a_line_for_each_piece_and_one_end(llama, server, model_id):
    pieces = list(llama.chat(model_id + ":latest", QUESTION, stream=True, options=GREEDY))
    assert "".join(piece.message.content for piece in pieces) == llama.chat(model_id, QUESTION, options=GREEDY).message.content
    assert [piece.done for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert pieces[-1].eval_count == len(pieces)
    # Ollama streams unless it is told not to.
    raw = requests.post(server.url + "/api/generate", json={"model": model_id, "prompt": "Hello", "options": GREEDY}, timeout=60)
    assert raw.headers["Content-Type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in raw.text.splitlines()]
    assert lines[-1]["done"] and "".join(line["response"] for line in lines)


def test_generate_uses_the_template_unless_it_is_raw(llama, client, model_id):
    answer = llama.generate(model_id, QUESTION[0]["content"], options=GREEDY)
    assert answer.response == llama.chat(model_id, QUESTION, options=GREEDY).message.content
    raw = llama.generate(model_id, "Once upon a time", raw=True, options=GREEDY | {"num_predict": 8})
    same = client.completions.create(model=model_id, prompt="Once upon a time", temperature=0, max_tokens=8)
    assert raw.response == same.choices[0].text
    assert raw.done_reason == "length" and raw.eval_count == 8
    system = llama.generate(model_id, QUESTION[0]["content"], system="Answer in one word.", options=GREEDY)
    assert system.prompt_eval_count > answer.prompt_eval_count


def test_options_reach_the_sampler(llama, model_id):
    assert llama.chat(model_id, QUESTION, options=GREEDY | {"num_predict": 2}).eval_count == 2
    assert "Paris" not in llama.chat(model_id, QUESTION, options=GREEDY | {"stop": ["Paris"]}).message.content
    sampled = {"seed": 7, "temperature": 1.5, "top_k": 0, "top_p": 1.0, "num_predict": 20, "num_ctx": 512, "num_thread": 2}
    story = [{"role": "user", "content": "Tell me a story about a cat."}]
    assert llama.chat(model_id, story, options=sampled).message.content == llama.chat(model_id, story, options=sampled).message.content
    assert llama.chat(model_id, QUESTION, options=GREEDY | {"num_predict": -1, "repeat_last_n": 64}).done_reason == "stop"


def test_a_format_constrains_the_text(llama, model_id):
    assert json.loads(llama.chat(model_id, QUESTION, format=CITY, options=GREEDY).message.content)["city"] in ("Paris", "Rome")
    assert isinstance(json.loads(llama.generate(model_id, "Write JSON.", format="json", options=GREEDY | {"num_predict": 400}).response), dict)


def test_a_tool_is_called_and_its_result_taken_back(llama, model_id):
    question = [{"role": "user", "content": "What is the weather in Paris?"}]
    answer = llama.chat(model_id, question, tools=[weather], options=GREEDY)
    call = answer.message.tool_calls[0].function
    assert (call.name, dict(call.arguments)) == ("weather", {"city": "Paris"})
    history = question + [answer.message, {"role": "tool", "tool_name": "weather", "content": weather("Paris")}]
    assert "sunny" in llama.chat(model_id, history, tools=[weather], options=GREEDY).message.content
    streamed = [piece.message for piece in llama.chat(model_id, question, tools=[weather], options=GREEDY, stream=True)]
    assert [dict(call.function.arguments) for message in streamed for call in message.tool_calls or []] == [{"city": "Paris"}]


def test_log_probabilities(llama, client, model_id):
    answer = llama.chat(model_id, QUESTION, logprobs=True, top_logprobs=2, options=GREEDY | {"num_predict": 3})
    same = client.chat.completions.create(model=model_id, messages=QUESTION, temperature=0, max_tokens=3, logprobs=True, top_logprobs=2)
    assert [(one.token, one.logprob) for one in answer.logprobs] == [(one.token, one.logprob) for one in same.choices[0].logprobs.content]
    assert len(answer.logprobs[0].top_logprobs) == 2


def test_embeddings_are_those_of_openais_api(llama, client, model_id):
    texts = ["a heron", "a train"]
    same = [entry.embedding for entry in client.embeddings.create(model=model_id, input=texts).data]
    answer = llama.embed(model_id, texts)
    assert [list(vector) for vector in answer.embeddings] == [pytest.approx(vector, rel=1e-6) for vector in same]
    assert answer.prompt_eval_count > 0
    assert list(llama.embeddings(model_id, texts[0]).embedding) == pytest.approx(same[0], rel=1e-6)
    long = "word " * 5000
    assert len(llama.embed(model_id, long).embeddings) == 1, "a long text is truncated, as Ollama does it"
    with pytest.raises(ollama.ResponseError) as refused:
        llama.embed(model_id, long, truncate=False)
    assert refused.value.status_code == 400


def test_models_are_listed_and_shown(llama, model_id):
    [listed] = llama.list().models
    assert listed.model == model_id and listed.size > 0 and listed.details.quantization_level == "BF16"
    [running] = llama.ps().models
    assert running.model == model_id and running.context_length == 2048
    shown = llama.show(model_id)
    assert {"completion", "tools"} <= set(shown.capabilities)
    assert shown.modelinfo["general.architecture"] == "llama" and "<|im_start|>" in shown.template


def test_a_request_without_a_prompt_only_asks_for_the_model(llama, model_id):
    assert llama.generate(model_id).done_reason == "load"
    assert llama.chat(model_id, keep_alive="5m").done_reason == "load"
    assert llama.generate(model_id, keep_alive=0).done_reason == "unload"


@pytest.mark.parametrize("call, status, words", [
    (lambda c, m: c.chat("no-such-model", QUESTION), 404, "no-such-model"),
    (lambda c, m: c.show("no-such-model"), 404, "no-such-model"),
    (lambda c, m: c.chat(m, QUESTION, options={"temprature": 1}), 400, "options.temprature; did you mean 'temperature'?"),
    (lambda c, m: c.chat(m, QUESTION, options={"temperature": "hot"}), 400, "options.temperature"),
    (lambda c, m: c.chat(m, QUESTION, options={"repeat_penalty": 1.1, "repeat_last_n": 64}), 400, "repeat_last_n"),
    (lambda c, m: c.chat(m, QUESTION, think=True), 400, "'think' needs a model that reasons"),
    (lambda c, m: c.chat(m, QUESTION, keep_alive="soon"), 400, "keep_alive"),
    (lambda c, m: c.chat(m, [{"role": "user", "content": "x", "images": ["aGVsbG8="]}]), 400, "messages[0].images"),
    (lambda c, m: c.generate(m, "a", suffix="b"), 400, "fill in the middle"),
    (lambda c, m: c.generate(m, "a", context=[1, 2]), 400, "context"),
    (lambda c, m: c.pull("llama3"), 400, "does not download"),
    (lambda c, m: c.push("llama3"), 400, "does not download or upload"),
    (lambda c, m: c.copy(m, "copy"), 400, "--models-dir"),
    (lambda c, m: c.delete(m), 400, "--models-dir"),
])
def test_errors_are_the_clients_own(llama, model_id, call, status, words):
    with pytest.raises(ollama.ResponseError) as refused:
        call(llama, model_id)
    assert refused.value.status_code == status
    assert words in refused.value.error
