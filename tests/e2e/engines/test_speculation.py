"""Speculative decoding: the answer is the same as without it."""

import subprocess

import pytest
import requests
from server_process import MODEL, ROOT, ServerProcess, program

DRAFT = ROOT / "models" / "tiny" / "inferflux-tiny-draft.gguf"
QUESTIONS = ["What is the capital of France?", "Count from one to ten.", "Repeat after me: to be or not to be, that is the question."]


@pytest.fixture(scope="module")
def drafting(tmp_path_factory):
    config = tmp_path_factory.mktemp("draft") / "server.yaml"
    config.write_text(f"models:\n  - path: {MODEL}\n    draft: {DRAFT}\n")
    with ServerProcess("--config", str(config), model=None) as running:
        yield running


def ask(server, question, **fields):
    body = {"messages": [{"role": "user", "content": question}], "max_tokens": 60, **fields}
    response = requests.post(server.url + "/v1/chat/completions", json=body, timeout=60)
    assert response.status_code == 200, response.text
    reply = response.json()
    return reply["choices"][0]["message"]["content"], reply["usage"].get("completion_tokens_details", {})


@pytest.mark.parametrize("sampling", [{"temperature": 0}, {"temperature": 1, "seed": 5}, {"temperature": 0.8, "top_p": 0.9, "seed": 6}])
def test_the_answer_does_not_depend_on_guesses(server, drafting, sampling):
    accepted = 0  # the number depends on the cost of steps on this machine
    before = drafting.metric("inferflux_accepted_tokens_total")
    for question in QUESTIONS:
        plain, details = ask(server, question, **sampling)
        assert details["accepted_prediction_tokens"] == details["rejected_prediction_tokens"] == 0, "the plain server does not guess"
        for speculative in (None, {"type": "none"}, {"type": "prompt_lookup", "max_tokens": 8}, {"type": "draft", "max_tokens": 5}):
            text, details = ask(drafting, question, speculative=speculative, **sampling)
            assert text == plain, (question, speculative)
            accepted += details.get("accepted_prediction_tokens", 0)
    assert drafting.metric("inferflux_accepted_tokens_total") - before == accepted


def test_a_prediction_changes_nothing(server):
    """Not even a wrong one, or one that goes on behind the end of the answer."""
    accepted = 0
    for question in QUESTIONS:
        for sampling in ({"temperature": 0}, {"temperature": 1, "seed": 5}):
            plain, _ = ask(server, question, **sampling)
            for content in (plain, plain + " And more.", plain.replace("e", "a"), [{"type": "text", "text": "Nothing "}, {"type": "text", "text": "of it."}]):
                text, details = ask(server, question, prediction={"type": "content", "content": content}, **sampling)
                assert text == plain, (question, content)
                assert details["rejected_prediction_tokens"] >= 0
                accepted += details["accepted_prediction_tokens"]
    assert accepted > 0


@pytest.mark.parametrize("prediction, param", [
    ({"type": "content"}, "prediction.content"), ({"content": "x"}, "prediction.type"), ({"type": "text", "content": "x"}, "prediction.type"),
    ({"type": "content", "content": 3}, "prediction.content"), ("x", "prediction"), ({"type": "content", "content": "x", "more": 1}, "prediction.more")])
def test_a_prediction_has_its_form(server, prediction, param):
    body = {"messages": [{"role": "user", "content": "Hi"}], "prediction": prediction}
    response = requests.post(server.url + "/v1/chat/completions", json=body, timeout=20)
    assert response.status_code == 400 and response.json()["error"]["param"] == param, response.text


def test_what_cannot_be_is_refused(server, drafting):
    for fields, param in [({"type": "draft"}, "speculative.type"), ({"type": "magic"}, "speculative.type"),
                          ({"type": "none", "max_tokens": 17}, "speculative.max_tokens"), ({"kind": "none"}, "speculative.kind")]:
        response = requests.post(server.url + "/v1/completions", json={"prompt": "x", "speculative": fields}, timeout=20)
        assert response.status_code == 400 and response.json()["error"]["param"] == param, response.text
    models = requests.get(drafting.url + "/v1/models", timeout=20).json()["data"]
    assert models[0]["details"]["draft"] is True


def test_a_draft_with_other_tokens_is_refused_at_load(tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text(f"models:\n  - path: {MODEL}\n    draft: {ROOT / 'tests/data/models/llama3.gguf'}\n")
    ended = subprocess.run([program("inferfluxd"), "--config", str(config), "--port", "0"], capture_output=True, timeout=60)
    assert ended.returncode == 1 and b"the draft model" in ended.stderr
