"""Clients that are slow or broken, send huge requests, or disconnect."""

import json
import threading

import openai
import pytest
import requests
from server_process import ServerProcess, eventually

LONG = {"prompt": "Once upon a time", "max_tokens": 1500, "ignore_eos": True, "stream": True}


def request_bytes(body, path="/v1/completions", extra=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n{extra}\r\n".encode() + data


def read_until(sock, end: bytes) -> bytes:
    got = b""
    while end not in got:
        piece = sock.recv(65536)
        if not piece:
            break
        got += piece
    return got


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_sequence(server, stream):
    generated = server.metric("inferflux_model_completion_tokens_total")
    with server.connect() as sock:
        sock.sendall(request_bytes({**LONG, "stream": stream, "n": 2}))
        assert eventually(lambda: server.metric("inferflux_running_sequences") >= 2)
    assert eventually(lambda: server.metric("inferflux_running_sequences") == 0, seconds=3)
    assert server.metric("inferflux_model_completion_tokens_total") - generated < 3000, "it did not run to its end unseen"
    assert eventually(lambda: server.metric("inferflux_requests_total", outcome="cancelled") >= 1)


def test_fifty_streams_at_once_are_each_right(server, client, model_id):
    questions = ["What is the capital of France?", "What is 2+2?", "What is the opposite of hot?"]

    def ask(question):
        chunks = client.chat.completions.create(model=model_id, temperature=0, stream=True,
                                                messages=[{"role": "user", "content": question}])
        return "".join(c.choices[0].delta.content or "" for c in chunks)

    alone = {question: ask(question) for question in questions}
    got: list[tuple[str, str]] = []
    threads = [threading.Thread(target=lambda q=questions[i % 3]: got.append((q, ask(q)))) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 50
    assert all(text == alone[question] for question, text in got), "a batch changes no answer"


def test_slow_clients_hold_up_nobody(server, client, model_id):
    slow = [server.connect() for _ in range(200)]
    for sock in slow:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
    answer = client.chat.completions.create(model=model_id, temperature=0,
                                            messages=[{"role": "user", "content": "What is 2+2?"}])
    assert "4" in answer.choices[0].message.content
    for sock in slow:
        sock.close()


def test_a_reader_that_stalls_holds_up_nobody(server, client, model_id):
    with server.connect() as stalled:
        stalled.sendall(request_bytes({**LONG, "logprobs": 5}))
        for _ in range(3):
            assert client.completions.create(model=model_id, prompt="Hi", max_tokens=4).usage.completion_tokens <= 4


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"null", b'{"prompt":"\xff"}', b'{"prompt":"x"} trailing',
                                  b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_bodies_that_are_no_json_object(server, body):
    response = requests.post(server.url + "/v1/completions", data=body, timeout=10)
    assert response.status_code == 400 and response.json()["error"]["code"] == "invalid_json"


def test_a_huge_body_is_413_and_the_server_lives(server):
    with server.connect() as sock:
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n")
        answer = read_until(sock, b"}}")
    assert b" 413 " in answer and b"limit" in answer
    assert requests.get(server.url + "/livez", timeout=5).status_code == 200


def test_requests_on_one_connection_are_answered_in_order(server):
    with server.connect() as sock:
        get = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
        sock.sendall(get % b"/livez" + request_bytes({"prompt": "Hi", "max_tokens": 1}) + get % b"/version")
        got = read_until(sock, b'"version"')
    assert got.count(b"HTTP/1.1 200 OK") == 3
    assert got.index(b"ok\n") < got.index(b"text_completion") < got.index(b'"version"')


def test_unknown_paths_and_methods(server):
    assert requests.get(server.url + "/v1/nothing", timeout=5).status_code == 404
    response = requests.get(server.url + "/v1/completions", timeout=5)
    assert response.status_code == 405 and response.headers["Allow"] == "POST, OPTIONS"
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_the_body_limit_is_a_setting():
    with ServerProcess("--server-max-body-bytes", "2KiB") as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        with pytest.raises(openai.APIStatusError) as error:
            client.completions.create(model="default", prompt="x" * 3000)
        assert error.value.status_code == 413
