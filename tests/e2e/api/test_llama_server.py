"""The paths of llama-server and vLLM that OpenAI's API lacks, and OpenAI's own paths without /v1."""

import openai
import pytest
import requests

CHAT = [{"role": "user", "content": "What is the capital of France?"}]


def post(server, path, **body):
    return requests.post(server.url + path, json=body, timeout=60)


def test_health_and_properties(server, client):
    assert requests.get(server.url + "/health", timeout=10).json() == {"status": "ok"}
    props = requests.get(server.url + "/props", timeout=10).json()
    assert props["default_generation_settings"]["n_ctx"] == 2048
    assert props["default_generation_settings"]["params"]["temperature"] == 1
    assert "<|im_start|>" in props["chat_template"] and props["eos_token"] == "<|im_end|>"
    assert requests.get(server.url + "/slots", timeout=10).json() == []
    assert requests.get(server.url + "/props?model=other", timeout=10).status_code == 404


def test_tokens_are_those_that_the_model_gets(server, client, model_id):
    text = "The capital of France is Paris, naïve café \U0001f600."
    ids = post(server, "/tokenize", content=text).json()["tokens"]
    vllm = post(server, "/tokenize", model=model_id, prompt=text, return_token_strs=True).json()
    assert vllm["tokens"] == ids and vllm["count"] == len(ids) == len(vllm["token_strs"]) and vllm["max_model_len"] == 2048
    usage = client.completions.create(model=model_id, prompt=text, max_tokens=1).usage
    assert usage.prompt_tokens == len(ids)
    back = post(server, "/detokenize", tokens=ids).json()
    assert back == {"content": text, "prompt": text}
    pieces = post(server, "/tokenize", content="naïve \U0001f600", with_pieces=True).json()["tokens"]
    spelled = b"".join(p["piece"].encode() if isinstance(p["piece"], str) else bytes(p["piece"]) for p in pieces)
    assert spelled.decode() == "naïve \U0001f600"


def test_text_matches_control_tokens_only_if_asked_to(server):
    plain = post(server, "/tokenize", content="<|im_end|>").json()["tokens"]
    parsed = post(server, "/tokenize", content="<|im_end|>", parse_special=True).json()["tokens"]
    assert len(plain) > 1 and len(parsed) == 1
    assert post(server, "/detokenize", tokens=parsed).json()["content"] == "<|im_end|>"


def test_a_chat_is_rendered_and_counted_as_it_is_answered(server, client, model_id):
    prompt = post(server, "/apply-template", messages=CHAT).json()["prompt"]
    assert prompt == "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    count = post(server, "/tokenize", messages=CHAT, add_generation_prompt=True).json()["count"]
    assert count == client.chat.completions.create(model=model_id, messages=CHAT, max_tokens=1).usage.prompt_tokens


def test_tokenizer_info(server):
    info = requests.get(server.url + "/tokenizer_info", timeout=10).json()
    assert (info["vocab_size"], info["eos_token"], info["model_max_length"]) == (3072, "<|im_end|>", 2048)


@pytest.mark.parametrize("path, body, param", [
    ("/tokenize", {}, "prompt"), ("/tokenize", {"content": 5}, "content"), ("/tokenize", {"prompt": "a", "colour": 1}, "colour"),
    ("/detokenize", {}, "tokens"), ("/detokenize", {"tokens": [10**6]}, "tokens[0]"), ("/detokenize", {"tokens": [-1]}, "tokens[0]"),
    ("/apply-template", {"messages": []}, "messages"), ("/infill", {"input_prefix": "a", "input_suffix": "b"}, "model"),
    ("/infill", {"input_extra": [{"colour": 1}]}, "input_extra[0].colour")])
def test_what_is_wrong_is_named(server, path, body, param):
    answer = post(server, path, **body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param


@pytest.mark.parametrize("path, words", [
    ("/v1/audio/transcriptions", "speech"), ("/v1/audio/speech", "speech"), ("/v1/images/generations", "images")])
def test_what_no_model_here_does_is_refused_clearly(server, path, words):
    answer = post(server, path, model="x")
    assert answer.status_code == 404
    assert words in answer.json()["error"]["message"] and answer.json()["error"]["code"] == "unsupported_endpoint"


def test_a_base_url_without_v1_works(server, client, model_id):
    bare = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0, timeout=60)
    assert bare.models.list().data[0].id == model_id
    answer = bare.chat.completions.create(model=model_id, messages=CHAT, temperature=0)
    assert answer.choices[0].message.content == client.chat.completions.create(model=model_id, messages=CHAT, temperature=0).choices[0].message.content
    assert bare.completions.create(model=model_id, prompt="Hi", max_tokens=2).usage.completion_tokens == 2
    assert len(bare.embeddings.create(model=model_id, input="a").data) == 1
