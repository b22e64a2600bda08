"""What clients see while a server stops."""

import signal
import threading

import pytest
import requests
from server_process import ServerProcess, eventually


def begin(server, **fields):
    """A stream that has begun."""
    body = {"prompt": "Once", "max_tokens": 1800, "ignore_eos": True, "stream": True, **fields}
    answer = requests.post(server.url + "/v1/completions", stream=True, timeout=60, json=body)
    lines = (line for line in answer.iter_lines() if line)
    next(lines)
    return lines


@pytest.mark.parametrize("flags", [(), ("--pool", "--runtime-kv-budget", "64MiB")], ids=["alone", "pool"])
def test_a_server_that_drains_says_so_and_finishes_what_runs(flags):
    server = ServerProcess("--server-grace-seconds", "30", *flags)
    lines = begin(server)
    server.process.send_signal(signal.SIGTERM)
    assert eventually(lambda: requests.get(server.url + "/readyz", timeout=5).status_code == 503, 5)
    assert "draining" in requests.get(server.url + "/readyz", timeout=5).text
    refused = requests.post(server.url + "/v1/chat/completions", timeout=5,
                            json={"messages": [{"role": "user", "content": "Hi"}]})
    assert refused.status_code == 503 and refused.headers["Retry-After"]
    assert "the server is stopping" in refused.json()["error"]["message"]
    rest = list(lines)
    assert rest[-1] == b"data: [DONE]" and any(b'"finish_reason":"length"' in line for line in rest)
    assert server.process.wait(30) == 0


@pytest.mark.parametrize("flags", [(), ("--pool", "--runtime-kv-budget", "64MiB")], ids=["alone", "pool"])
def test_what_outlasts_the_grace_ends_with_an_error_that_is_logged(flags):
    server = ServerProcess("--server-grace-seconds", "0", *flags)
    lines = begin(server, max_tokens=1900)
    server.process.send_signal(signal.SIGTERM)
    rest = list(lines)
    assert rest[-1] == b"data: [DONE]"
    assert sum(b'"error"' in line and b"stopping" in line for line in rest) == 1
    assert server.process.wait(30) == 0
    assert "1 generations did not end within the 0 s of grace and are cut" in server.log()


def test_what_waits_for_its_turn_is_refused_at_once_and_what_runs_goes_on():
    server = ServerProcess("--kv-budget", "5MiB", "--server-grace-seconds", "30")  # holds one of these at a time
    prompt = [5, *range(100, 1500)]
    answers = {}

    def ask(name, tokens):
        answers[name] = requests.post(server.url + "/v1/completions", timeout=60, json={
            "prompt": [len(name), *prompt], "max_tokens": tokens, "ignore_eos": True})

    runs = threading.Thread(target=ask, args=("runs", 600))
    runs.start()
    assert eventually(lambda: server.metric("inferflux_running_sequences") == 1)
    waits = threading.Thread(target=ask, args=("waits for it", 4))
    waits.start()
    assert eventually(lambda: server.metric("inferflux_queue_depth") == 1)
    server.process.send_signal(signal.SIGTERM)
    waits.join()
    assert runs.is_alive(), "refused before the other has ended"
    assert answers["waits for it"].status_code == 503 and "Retry-After" in answers["waits for it"].headers
    runs.join()
    assert answers["runs"].json()["usage"]["completion_tokens"] == 600
    assert server.process.wait(30) == 0
