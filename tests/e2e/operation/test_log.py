"""The log's formats, and the ids by which requests are found in it."""

import hashlib
import json
import re

import pytest
import requests
from server_process import MODEL, ServerProcess, eventually

PROMPT = {"prompt": "Once", "max_tokens": 2}


def objects(server) -> list[dict]:
    return [json.loads(line) for line in server.log().splitlines()]


@pytest.fixture(scope="module")
def pool():
    with ServerProcess("--log-format", "json", "--pool", "--runtime-kv-budget", "64MiB") as running:
        yield running


def ids_of(server, request_id: str) -> list[dict]:
    return [line for line in objects(server) if line.get("request_id") == request_id]


def test_a_json_log_names_a_request_in_the_server_and_in_its_worker(pool):
    answer = requests.post(pool.url + "/v1/completions", json=PROMPT, headers={"X-Request-Id": "mine-1"}, timeout=30)
    assert answer.status_code == 200 and answer.headers["X-Request-Id"] == "mine-1"
    assert eventually(lambda: len(ids_of(pool, "mine-1")) == 2, 10), pool.log()
    generation, request = sorted(ids_of(pool, "mine-1"), key=lambda line: line["message"])
    assert generation["message"] == "generation" and generation["completion_tokens"] == 2
    assert generation["worker_id"] and generation["port"] > 0 and "cpu" in generation["device"]
    assert request["message"] == "request" and request["status"] == 200 and request["path"] == "/v1/completions"
    assert request["ms"] >= generation["ms"] * 0.5 and request["complete"] is True
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d", line["time"]) for line in objects(pool))
    assert {line["level"] for line in objects(pool)} <= {"debug", "info", "warning", "error"}


@pytest.mark.parametrize("given", [None, "", "two words", "x" * 129, "a\"b"])
def test_a_request_without_a_plain_id_gets_one(pool, given):
    headers = {} if given is None else {"X-Request-Id": given}
    answer = requests.get(pool.url + "/v1/models?secret=1", headers=headers, timeout=10)
    made = answer.headers["X-Request-Id"]
    assert made != given and made.startswith("req_")
    assert eventually(lambda: len(ids_of(pool, made)) == 1, 5)
    assert "secret" not in pool.log()


def test_refusals_have_an_id_too(pool):
    for answer in (requests.get(pool.url + "/nothing", timeout=10), requests.post(pool.url + "/v1/completions", data="{", timeout=10)):
        assert answer.status_code in (400, 404) and answer.headers["X-Request-Id"]


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(hashlib.sha256(b"sk-alice").hexdigest() + " read,generate name=alice\n")
    with ServerProcess("--log-format", "json", "--server-api-keys-file", str(keys)) as running:
        yield running


def the_line(server, answer) -> dict:
    made = answer.headers["X-Request-Id"]
    assert eventually(lambda: len(ids_of(server, made)) == 1, 5), server.log()
    return ids_of(server, made)[0]


@pytest.mark.parametrize("stream", [False, True])
def test_a_line_has_the_keys_name_the_model_and_the_tokens(keyed, stream):
    answer = requests.post(keyed.url + "/v1/completions", json={**PROMPT, "stream": stream}, timeout=30,
                           headers={"Authorization": "Bearer sk-alice"})
    line = the_line(keyed, answer)
    assert (line["key"], line["model"], line["completion_tokens"]) == ("alice", MODEL.stem, 2)
    assert line["prompt_tokens"] >= 1 and line["status"] == 200 and line["ms"] > 0 and "reason" not in line
    assert "sk-alice" not in keyed.log()


@pytest.mark.parametrize("path, body", [("/v1/completions", {"prompt": "Once", "temperature": 9}),
                                        ("/v1/messages", {"model": MODEL.stem, "max_tokens": 4, "messages": [], "temperature": 9}),
                                        ("/api/chat", {"model": MODEL.stem, "messages": [], "options": {"temperature": 99}})])
def test_a_refusal_says_why(keyed, path, body):
    answer = requests.post(keyed.url + path, json=body, timeout=30, headers={"Authorization": "Bearer sk-alice"})
    line = the_line(keyed, answer)
    assert answer.status_code == line["status"] == 400 and line["key"] == "alice"
    error = answer.json()["error"]
    assert line["reason"] == (error if isinstance(error, str) else error["message"])


def test_a_wrong_key_says_why_and_has_no_name(keyed):
    line = the_line(keyed, requests.post(keyed.url + "/v1/completions", json=PROMPT, timeout=30,
                                         headers={"Authorization": "Bearer sk-mallory"}))
    assert line["status"] == 401 and "not known" in line["reason"] and "key" not in line and "sk-mallory" not in keyed.log()


def test_a_reason_in_text_is_one_field():
    with ServerProcess() as server:
        answer = requests.post(server.url + "/v1/completions", json={"prompt": "x", "max_tokenz": 3}, timeout=10)
        made = answer.headers["X-Request-Id"]
        assert eventually(lambda: f"request_id={made} " in server.log(), 5)
        line = next(line for line in server.log().splitlines() if made in line)
        assert re.search(r'status=400 .*reason="[^"]*max_tokenz.*max_tokens[^"]*"$', line), line


def test_probes_do_not_fill_the_log_and_text_is_the_default():
    with ServerProcess(model=MODEL) as server:
        made = requests.get(server.url + "/v1/models", timeout=10).headers["X-Request-Id"]
        assert eventually(lambda: f"request_id={made} " in server.log(), 5)
        assert "/readyz" not in server.log() and "/healthz" not in server.log()
