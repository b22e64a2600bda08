"""Limits of each key: what a greedy one is refused, how it is told, and that others do not notice."""

import concurrent.futures
import json
import signal
import socket
import subprocess
import time

import pytest
import requests
from server_process import ServerProcess, clean_environment, eventually, program


def keys(file, *words: str, code: int = 0) -> str:
    done = subprocess.run([program("inferctl"), "keys", *words, "--file", str(file)], capture_output=True, text=True,
                          timeout=30, env=clean_environment())
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def post(server, path, body, key="", **headers):
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    return requests.post(server.url + path, json=body, headers={**bearer, **headers}, timeout=120)


def complete(server, key="", **fields):
    return post(server, "/v1/completions", {"prompt": "Once", "max_tokens": 4, "ignore_eos": True, **fields}, key)


def head_only(server, key: str, length: int, path="/v1/completions") -> socket.socket:
    """A connection that has sent the head of a request, and no body."""
    sock = server.connect()
    sock.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
                 f"Content-Length: {length}\r\n\r\n".encode())
    return sock


def taken(sock: socket.socket) -> socket.socket:
    """Waits until the server has read the head: what comes later must not be before it."""
    sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        sock.recv(1)
    sock.settimeout(30)
    return sock


def slow_schema(tag: str, count: int = 12) -> dict:
    """Small, and much work: the automata of its patterns have thousands of states. New for each tag."""
    patterns = {f"p{i}": {"type": "string", "pattern": f"^(a|b)*a(a|b){{{9 + i % 3}}}{tag}$"} for i in range(count)}
    return {"type": "object", "properties": patterns, "required": list(patterns), "additionalProperties": False}


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    file = tmp_path_factory.mktemp("keys") / "keys"
    made = {"polite": keys(file, "create", "polite", "--scopes", "read,generate,admin").strip(),
            "minute": keys(file, "create", "minute", "--tokens-per-minute", "60").strip(),
            "queue": keys(file, "create", "queue", "--running", "1", "--queued", "2").strip(),
            "bodies": keys(file, "create", "bodies", "--body-bytes", "1000000").strip(),
            "sockets": keys(file, "create", "sockets", "--connections", "3").strip()}
    with ServerProcess(environment={"INFERFLUX_API_KEYS_FILE": str(file)}) as server:
        yield server, made


def metric(server, key, name, *labels):
    """The first sample that has these labels, each as name="value"; 0 if there is none."""
    text = requests.get(server.url + "/metrics", headers={"Authorization": f"Bearer {key}"}, timeout=10).text
    for line in text.splitlines():
        if line.startswith((name + "{", name + " ")) and all(label in line for label in labels):
            return float(line.split()[-1])
    return 0


def test_a_keys_limits_are_made_listed_and_checked(tmp_path):
    file = tmp_path / "keys"
    made = json.loads(keys(file, "create", "ci", "--tokens-per-minute", "60000", "--queued", "0", "--json"))
    assert made["limits"] == {"queued": 0, "tokens_per_minute": 60000}
    assert "queued=0 tokens_per_minute=60000" in file.read_text()
    (listed,) = json.loads(keys(file, "list", "--json"))
    assert listed["limits"] == made["limits"] and "tokens_per_minute=60000" in keys(file, "list")
    assert "--queued -1" in keys(file, "create", "x", "--queued", "-1", code=2)


def test_tokens_of_a_minute_are_refused_before_the_body_in_each_apis_words(limited):
    server, made = limited
    assert complete(server, made["minute"], max_tokens=70).status_code == 200
    refused = complete(server, made["minute"])
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 40
    error = refused.json()["error"]
    assert error["type"] == "rate_limit_error" and error["code"] == "rate_limit_exceeded"
    assert "limits.tokens_per_minute" in error["message"] and "60" in error["message"]
    with head_only(server, made["minute"], 1_000_000) as sock:
        assert b" 429 " in sock.recv(4096), "no byte of the body was sent"
    anthropic = post(server, "/v1/messages", {"max_tokens": 4, "messages": [{"role": "user", "content": "Hi"}]}, **{
        "x-api-key": made["minute"]})
    assert anthropic.status_code == 429 and anthropic.json()["error"]["type"] == "rate_limit_error"
    assert int(anthropic.headers["Retry-After"]) >= 1
    ollama = post(server, "/api/generate", {"model": "inferflux-tiny", "prompt": "Hi"}, made["minute"])
    assert ollama.status_code == 429 and isinstance(ollama.json()["error"], str)
    assert complete(server, made["polite"]).status_code == 200
    assert metric(server, made["polite"], "inferflux_limited_requests_total", 'limit="tokens_per_minute"', 'key="minute"') == 4


def test_the_advice_is_right(limited):
    server, made = limited
    while (refused := complete(server, made["minute"], max_tokens=1)).status_code == 200:
        pass
    wait = int(refused.headers["Retry-After"])
    if wait > 2:
        time.sleep(wait - 2)
        assert complete(server, made["minute"], max_tokens=1).status_code == 429, "not earlier"
        time.sleep(2.1)
    else:
        time.sleep(wait + 0.1)
    assert complete(server, made["minute"], max_tokens=1).status_code == 200


def test_a_key_has_its_own_place_in_the_queue(limited):
    server, made = limited
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        # The first runs before the others come: three at once may all wait for one step, and two is the limit.
        long = [pool.submit(complete, server, made["queue"], max_tokens=3000)]
        assert eventually(lambda: metric(server, made["polite"], "inferflux_running_sequences") == 1, 20)
        long += [pool.submit(complete, server, made["queue"], max_tokens=1500) for _ in range(2)]
        assert eventually(lambda: metric(server, made["polite"], "inferflux_queue_depth") == 2, 20)
        assert metric(server, made["polite"], "inferflux_running_sequences") == 1
        refused = complete(server, made["queue"])
        assert refused.status_code == 429 and "its limit is 2 (limits.queued)" in refused.json()["error"]["message"]
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert complete(server, made["polite"]).status_code == 200
        assert [answer.result().status_code for answer in long] == [200, 200, 200]


def test_bodies_that_a_key_holds_back_keep_only_its_own_out(limited):
    server, made = limited
    held = [taken(head_only(server, made["bodies"], 400_000)) for _ in range(2)]
    assert eventually(lambda: complete(server, made["bodies"], prompt="x" * 300_000).status_code == 429, 10)
    assert complete(server, made["polite"]).status_code == 200
    with head_only(server, made["bodies"], 2_000_000) as sock:
        assert b" 413 " in sock.recv(4096), "it never fits"
    for sock in held:
        sock.close()
    assert eventually(lambda: complete(server, made["bodies"]).status_code == 200, 10)


def test_a_key_has_requests_on_as_many_connections_as_it_may(limited):
    server, made = limited
    held = [taken(head_only(server, made["sockets"], 100)) for _ in range(3)]
    assert eventually(lambda: complete(server, made["sockets"]).status_code == 429, 10)
    assert "limits.connections" in complete(server, made["sockets"]).text
    for sock in held:
        sock.close()
    assert eventually(lambda: complete(server, made["sockets"]).status_code == 200, 10)


def test_without_keys_an_address_has_the_limits():
    with ServerProcess("--limits-tokens-per-minute", "50", "--limits-connections", "5") as server:
        assert complete(server, max_tokens=60).status_code == 200
        refused = complete(server)
        assert refused.status_code == 429 and "this address" in refused.json()["error"]["message"]
        assert server.metric("inferflux_limited_requests_total", key="none", limit="tokens_per_minute") == 1
        socks = [server.connect() for _ in range(5)]

        def one_more_is_closed():
            with server.connect() as sock:
                try:
                    sock.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    return sock.recv(100) == b""
                except ConnectionError:
                    return True

        assert eventually(one_more_is_closed, 10)
        for sock in socks:
            sock.close()
        assert eventually(lambda: not one_more_is_closed(), 10)
        assert server.metric("inferflux_limited_connections_total") >= 1


def test_limits_are_read_again_at_sighup(tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text("limits: {tokens_per_minute: 10}\n")
    with ServerProcess("--config", str(config)) as server:
        assert complete(server, max_tokens=20).status_code == 200
        assert complete(server).status_code == 429
        config.write_text("limits: {tokens_per_minute: 0}\n")
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: complete(server).status_code == 200, 10)


def test_a_preparation_has_a_limit_of_processor_time():
    with ServerProcess("--limits-preparation-cpu-ms", "5") as server:
        began = time.monotonic()
        refused = complete(server, structured_outputs={"json": slow_schema("x")})
        assert refused.status_code == 400, refused.text
        error = refused.json()["error"]
        assert error["code"] == "preparation_limit" and "limits.preparation_cpu_ms" in error["message"]
        assert time.monotonic() - began < 10
        assert complete(server).status_code == 200
        assert server.metric("inferflux_limited_requests_total", limit="preparation") == 1


def test_senders_that_hang_up_do_not_make_the_next_user_wait(tmp_path):
    file = tmp_path / "keys"
    rude, polite = (keys(file, "create", name).strip() for name in ("rude", "polite"))
    with ServerProcess(environment={"INFERFLUX_API_KEYS_FILE": str(file)}) as server:
        body = json.dumps({"prompt": "x", "max_tokens": 4, "structured_outputs": {"json": slow_schema("z", 200)}}).encode()
        socks = []
        for _ in range(6):
            sock = head_only(server, rude, len(body))
            sock.sendall(body)
            socks.append(sock)
        time.sleep(0.3)
        for sock in socks:
            sock.close()
        began = time.monotonic()
        assert complete(server, polite).status_code == 200
        assert complete(server, rude).status_code == 200, "its own slots are free again too"
        assert time.monotonic() - began < 8


def test_log_probabilities_of_many_choices_are_refused():
    with ServerProcess() as server:
        def ask(**fields):
            question = {"messages": [{"role": "user", "content": "Hello"}], "logprobs": True, "top_logprobs": 20}
            return post(server, "/v1/chat/completions", {**question, **fields}, "")

        refused = ask(n=128, max_tokens=1900)
        assert refused.status_code == 400 and "128" in refused.json()["error"]["message"], refused.text
        assert refused.json()["error"]["param"] in ("logprobs", "top_logprobs")
        assert ask(n=2, max_tokens=4).status_code == 200
