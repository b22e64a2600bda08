"""What may come next in an answer, and how likely it is: as a generation under the same constraint finds it."""

import math

import pytest
import requests
from server_process import ServerProcess

CHAT = [{"role": "user", "content": "What is the capital of France?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"], "additionalProperties": False}


def ask(server, **body):
    return requests.post(server.url + "/v1/next_tokens", json={"messages": CHAT, **body}, timeout=60)


def test_an_expression_leaves_few_tokens(server):
    next_ = ask(server, structured_outputs={"regex": "yes|no"}).json()
    assert next_["vocabulary"] == 3072 and 2 <= next_["allowed"] <= 5 and not next_["may_end"]
    assert {token["token"] for token in next_["top"]} <= {"y", "ye", "yes", "n", "no"} and len(next_["top"]) == next_["allowed"]
    assert sum(token["constrained_probability"] for token in next_["top"]) == pytest.approx(1, abs=1e-4)
    assert sum(token["probability"] for token in next_["top"]) == pytest.approx(next_["allowed_probability"], rel=1e-3)
    end = ask(server, structured_outputs={"regex": "yes|no"}, prefix="yes").json()
    assert end["may_end"] and end["top"][0]["token"] == "<|im_end|>"


def test_without_a_constraint_it_is_what_log_probabilities_say(server, client, model_id):
    answer = client.chat.completions.create(model=model_id, messages=CHAT, max_tokens=1, temperature=0, logprobs=True, top_logprobs=5)
    said = {other.token: other.logprob for other in answer.choices[0].logprobs.content[0].top_logprobs}
    next_ = ask(server, top=5).json()
    assert next_["allowed"] == next_["vocabulary"] and next_["allowed_probability"] == 1
    assert {token["token"]: token["logprob"] for token in next_["top"]} == pytest.approx(said, abs=1e-5)
    assert next_["top"][0]["probability"] == pytest.approx(math.exp(next_["top"][0]["logprob"]))
    assert all(token["allowed"] for token in next_["unconstrained"])


def test_following_the_likeliest_tokens_writes_the_greedy_answer(server, client, model_id):
    constraint = {"structured_outputs": {"json": SCHEMA}}
    greedy = client.chat.completions.create(model=model_id, messages=CHAT, temperature=0, extra_body=constraint).choices[0].message.content
    text = ""
    for _ in range(60):
        next_ = ask(server, prefix=text, **constraint).json()
        token = next_["top"][0]["token"]
        if token == "<|im_end|>" or len(text) >= len(greedy):
            break
        text += token
    assert text == greedy


def test_a_raw_prompt_works_too(server):
    next_ = ask(server, messages=None, prompt="Once upon a time").json()
    assert next_["usage"]["prompt_tokens"] > 1 and len(next_["top"]) == 20
    probabilities = [token["probability"] for token in next_["top"]]
    assert probabilities == sorted(probabilities, reverse=True)


@pytest.mark.parametrize("body, param, words", [
    ({"structured_outputs": {"json": {"type": "array", "uniqueItems": True}}}, "structured_outputs.json", "uniqueItems"),
    ({"structured_outputs": {"regex": "(a"}}, "structured_outputs.regex", "cannot be used"),
    ({"structured_outputs": {"regex": "yes|no"}, "prefix": "maybe"}, "prefix", "cannot follow"),
    ({"stream": True}, "stream", "false"),
    ({"n": 2}, "n", "must be 1"),
    ({"top": 21}, "top", "20"),
    ({"session_id": "a"}, "session_id", "generations"),
    ({"messages": None}, "messages", "missing"),
])
def test_what_is_refused_says_why(server, body, param, words):
    answer = ask(server, **body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == param and words in error["message"], error


def test_workers_answer_the_same(server):
    questions = [{"structured_outputs": {"json": SCHEMA}, "prefix": '{"city"'}, {"top": 3}]
    alone = [ask(server, **question).json() for question in questions]
    with ServerProcess("--pool", "--runtime-kv-budget", "64MiB") as pool:
        for question, expected in zip(questions, alone, strict=True):
            answer = ask(pool, **question).json()
            assert [token["token"] for token in answer["top"]] == [token["token"] for token in expected["top"]]
            assert answer["allowed"] == expected["allowed"]
            assert answer["allowed_probability"] == pytest.approx(expected["allowed_probability"], rel=1e-3)
        misfit = ask(pool, structured_outputs={"regex": "yes|no"}, prefix="maybe")
        assert misfit.status_code == 400 and misfit.json()["error"]["param"] == "prefix"
