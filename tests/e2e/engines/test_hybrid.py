"""A hybrid in a server: recurrent states survive preemption and sessions, and draft tokens are not used. Each answer is that of a
request alone."""

import gguf
import numpy as np
import pytest
import requests
from server_process import ROOT, ServerProcess

SOURCE = ROOT / "tests" / "data" / "models" / "qwen3_5.gguf"  # two layers of gated DeltaNet, one of attention
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,!?-"
PROMPTS = ["".join(LETTERS[(7 * i + 3 * j * j) % 36] for j in range(20 + 5 * i)) for i in range(6)]
LENGTH = 80
KV = {"INFERFLUX_RUNTIME_KV_DTYPE": "fp32"}


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory):
    """The tiny model with a vocabulary of single characters, and a chat template that shows the contents alone."""
    path = tmp_path_factory.mktemp("hybrid") / "hybrid.gguf"
    source = gguf.GGUFReader(SOURCE)
    writer = gguf.GGUFWriter(path, "qwen35")
    for name, field in source.fields.items():
        if not name.startswith(("GGUF.", "general.architecture")):
            items = field.types[1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=items)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    writer.add_token_list(list(LETTERS))
    writer.add_token_types([gguf.TokenType.NORMAL] * len(LETTERS))
    writer.add_token_merges([])
    writer.add_chat_template("{% for m in messages %}{{ m.content }}{% endfor %}")
    for tensor in source.tensors:
        writer.add_tensor(tensor.name, np.asarray(tensor.data))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def ask(server, prompt, **fields):
    body = {"prompt": prompt, "max_tokens": LENGTH, "temperature": 0, "ignore_eos": True, **fields}
    response = requests.post(server.url + "/v1/completions", json=body, timeout=120)
    assert response.status_code == 200, response.text
    reply = response.json()
    return reply["choices"][0]["text"], reply["usage"]


def guess(server, prompt, answer):
    """With the answer as a prediction. The chat template shows a message as it is."""
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": LENGTH, "temperature": 0, "ignore_eos": True,
            "prediction": {"type": "content", "content": answer}}
    response = requests.post(server.url + "/v1/chat/completions", json=body, timeout=120)
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["message"]["content"]


@pytest.fixture(scope="module")
def alone(hybrid):
    with ServerProcess(model=hybrid, environment=KV) as server:
        answers = [ask(server, prompt)[0] for prompt in PROMPTS]
    assert len(set(answers)) == len(answers) and all(len(answer) == LENGTH for answer in answers)
    return answers


def at_once(server, **fields):
    """All prompts twice, in one request."""
    body = {"prompt": PROMPTS * 2, "max_tokens": LENGTH, "temperature": 0, "ignore_eos": True, **fields}
    response = requests.post(server.url + "/v1/completions", json=body, timeout=120)
    assert response.status_code == 200, response.text
    return [choice["text"] for choice in sorted(response.json()["choices"], key=lambda choice: choice["index"])]


def test_a_preempted_request_goes_on_as_if_it_were_alone(hybrid, alone):
    with ServerProcess("--kv-budget", "96KiB", model=hybrid, environment=KV) as server:
        assert at_once(server) == alone * 2
        caches = requests.get(server.url + "/v1/admin/cache", timeout=20).json()["data"]
        assert caches[0]["preemptions"] > 0, caches


def test_draft_tokens_change_nothing(hybrid, alone):
    with ServerProcess(model=hybrid, environment=KV) as server:
        drafting = {"type": "prompt_lookup", "max_tokens": 8}
        assert [ask(server, prompt, speculative=drafting)[0] for prompt in PROMPTS] == alone
        assert [guess(server, prompt, answer) for prompt, answer in zip(PROMPTS, alone)] == alone
        assert at_once(server, speculative=drafting) == alone * 2
        assert server.metric("inferflux_drafted_tokens_total") == 0, "a state cannot go back by a few tokens"


def test_a_saved_session_goes_on_after_a_restart(hybrid, alone, tmp_path):
    folder = KV | {"INFERFLUX_RUNTIME_SESSION_DIR": str(tmp_path)}
    start, rest = alone[0][:25], alone[0][25:]
    with ServerProcess(model=hybrid, environment=folder) as first:
        assert ask(first, PROMPTS[0], max_tokens=25, session_id="one")[0] == start
        saved = requests.post(first.url + "/v1/sessions/one/save", timeout=20).json()
        assert saved["on_disk"] and saved["tokens"] >= len(PROMPTS[0]) + 24
    with ServerProcess(model=hybrid, environment=folder) as second:
        restored = requests.post(second.url + "/v1/sessions/one/restore", timeout=20).json()
        assert restored["tier"] == "engine"
        text, usage = ask(second, PROMPTS[0] + start, max_tokens=LENGTH - 25, session_id="one")
        assert text == rest
        assert usage["prompt_tokens_details"]["cached_tokens"] > len(PROMPTS[0])
