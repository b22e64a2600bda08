"""The log's formats, and the ids by which requests are found in it."""

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


def test_probes_do_not_fill_the_log_and_text_is_the_default():
    with ServerProcess(model=MODEL) as server:
        made = requests.get(server.url + "/v1/models", timeout=10).headers["X-Request-Id"]
        assert eventually(lambda: f"request_id={made} " in server.log(), 5)
        assert "/readyz" not in server.log() and "/healthz" not in server.log()
