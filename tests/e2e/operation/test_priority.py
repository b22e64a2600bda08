"""`priority` and `timeout` of requests, on a server whose KV holds one long request at a time."""

import threading
import time

import pytest
import requests
from server_process import ServerProcess, eventually

LONG = 1400  # tokens of a prompt; the KV of 5 MiB holds 2,040


@pytest.fixture(scope="module")
def server():
    with ServerProcess("--kv-budget", "5MiB") as running:
        yield running


def complete(server, first, tokens=4, **fields):
    body = {"prompt": [first, *range(100, 100 + LONG - 1)], "max_tokens": tokens, "ignore_eos": True, **fields}
    return requests.post(server.url + "/v1/completions", json=body, timeout=120)


class Occupied:
    """Runs a request that fills the KV in the background."""

    def __init__(self, server):
        self._server = server
        self._thread = threading.Thread(target=complete, args=(server, 5, 600))

    def __enter__(self):
        self._thread.start()
        assert eventually(lambda: self._server.metric("inferflux_running_sequences") == 1)

    def __exit__(self, *_):
        self._thread.join()


def test_of_those_that_wait_the_lower_priority_is_served_first(server):
    ended = []

    def ask(name, first, **fields):
        answer = complete(server, first, **fields)
        ended.append((name, answer.status_code))

    with Occupied(server):
        threads = []
        for place, (name, fields) in enumerate((("late", {"priority": 5}), ("plain", {}), ("early", {"priority": -5}))):
            threads.append(threading.Thread(target=ask, args=(name, 10 + place), kwargs=fields))
            threads[-1].start()
            assert eventually(lambda: server.metric("inferflux_queue_depth") == len(threads)), "they wait"
    for thread in threads:
        thread.join()
    assert ended == [("early", 200), ("plain", 200), ("late", 200)]


def test_a_request_that_waits_ends_at_its_timeout(server):
    with Occupied(server):
        began = time.monotonic()
        late = complete(server, 20, timeout=0.05)
        assert time.monotonic() - began < 5
    assert late.status_code == 429 and "deadline passed after 0 of its tokens" in late.json()["error"]["message"], late.text
    assert eventually(lambda: server.metric("inferflux_queue_depth") == 0)


@pytest.mark.parametrize("path, body", [
    ("/v1/completions", {"prompt": "Once"}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]})])
def test_a_request_that_runs_ends_at_its_timeout(server, path, body):
    body = {**body, "max_tokens": 1900, "ignore_eos": True, "timeout": 0.1}
    late = requests.post(server.url + path, json=body, timeout=60)
    assert late.status_code == 429 and "deadline passed" in late.json()["error"]["message"], late.text
    with requests.post(server.url + path, json={**body, "stream": True}, stream=True, timeout=60) as response:
        events = [line[6:] for line in response.iter_lines(decode_unicode=True) if line.startswith("data: ")]
    assert events[-1] == "[DONE]" and "deadline passed" in events[-2]
    in_time = requests.post(server.url + path, json={**body, "max_tokens": 2, "timeout": 60}, timeout=60)
    assert in_time.status_code == 200, in_time.text
