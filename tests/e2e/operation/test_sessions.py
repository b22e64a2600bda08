"""Conversations whose KV outlives their requests, and the server."""

import hashlib

import pytest
import requests
from server_process import ServerProcess, engines


def say(server, messages, session="chat", key=None, **fields):
    body = {"messages": messages, "max_tokens": 24, "temperature": 0, **fields}
    if session:
        body["session_id"] = session
    response = requests.post(server.url + "/v1/chat/completions", json=body, headers=headers(key), timeout=60)
    assert response.status_code == 200, response.text
    reply = response.json()
    return reply["choices"][0]["message"], reply["usage"]


def headers(key):
    return {"Authorization": f"Bearer {key}"} if key else {}


def sessions(server, key=None):
    return requests.get(server.url + "/v1/sessions", headers=headers(key), timeout=20).json()["data"]


def command(server, method, path, key=None):
    return requests.request(method, server.url + "/v1/sessions/" + path, headers=headers(key), timeout=20)


FIRST = [{"role": "user", "content": "What is the capital of France?"}]
SECOND = {"role": "user", "content": "And what is 2+2?"}


@pytest.fixture
def folder(tmp_path):
    return {"environment": {"INFERFLUX_RUNTIME_SESSION_DIR": str(tmp_path)}}


@pytest.mark.parametrize("kv", ["fp32", "fp16", "bf16", "int8", "fp8"])
def test_a_saved_chat_goes_on_after_a_restart(folder, tmp_path, kv):
    folder["environment"]["INFERFLUX_RUNTIME_KV_DTYPE"] = kv
    with ServerProcess(**folder) as first:
        answer, _ = say(first, FIRST, session=None)
        chat = [*FIRST, answer, SECOND]
        expected, _ = say(first, chat, session=None)
        assert say(first, FIRST)[0] == answer
        saved = command(first, "POST", "chat/save").json()
        assert saved["tier"] == "engine" and saved["on_disk"] and saved["tokens"] > 10
    for restore in (False, True):
        with ServerProcess(**folder) as second:
            assert [s["tier"] for s in sessions(second)] == ["disk"]
            if restore:
                assert command(second, "POST", "chat/restore").json()["tier"] == "engine"
            reply, usage = say(second, chat)
            assert reply == expected
            assert usage["prompt_tokens_details"]["cached_tokens"] >= saved["tokens"] - 2
    other = "fp16" if kv == "fp32" else "fp32"
    folder["environment"]["INFERFLUX_RUNTIME_KV_DTYPE"] = other
    with ServerProcess(**folder) as changed:  # KV of another type cannot be used
        assert say(changed, chat)[1]["prompt_tokens_details"]["cached_tokens"] == 0
    folder["environment"]["INFERFLUX_RUNTIME_KV_DTYPE"] = kv
    for path in tmp_path.rglob("*.session"):
        path.write_bytes(path.read_bytes()[:-9] + b"damaged!!")
    with ServerProcess(**folder) as third:
        reply, usage = say(third, chat)
        assert reply == expected and usage["prompt_tokens_details"]["cached_tokens"] == 0


def test_sessions_are_listed_and_deleted(folder):
    with ServerProcess(**folder) as server:
        assert sessions(server) == []
        say(server, FIRST, session_ttl=60)
        listed = sessions(server)
        assert len(listed) == 1 and listed[0]["id"] == "chat" and 0 < listed[0]["expires_in"] <= 60
        assert command(server, "DELETE", "chat").json()["deleted"] is True
        assert sessions(server) == [] and command(server, "DELETE", "chat").status_code == 404
        for path in ("none/save", "none/restore"):
            assert command(server, "POST", path).status_code == 404


def test_tenants_do_not_see_each_others_sessions(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("".join(hashlib.sha256(key.encode()).hexdigest() + "\n" for key in ("alpha", "beta")))
    with ServerProcess(environment={"INFERFLUX_SERVER_API_KEYS_FILE": str(keys)}) as server:
        say(server, FIRST, key="alpha")
        assert len(sessions(server, "alpha")) == 1 and sessions(server, "beta") == []
        assert command(server, "DELETE", "chat", "beta").status_code == 404
        _, usage = say(server, FIRST, key="beta")
        assert usage["prompt_tokens_details"]["cached_tokens"] == 0
        assert requests.get(server.url + "/v1/sessions", timeout=20).status_code == 401


@pytest.mark.parametrize("fields, param", [
    ({"session_id": ""}, "session_id"), ({"session_id": "a/b"}, "session_id"), ({"session_ttl": 5}, "session_ttl"),
    ({"session_id": "a", "session_ttl": 0}, "session_ttl"), ({"session_id": "a", "n": 2}, "session_id"),
    ({"session_id": "a", "prompt": ["x", "y"]}, "session_id")])
def test_what_cannot_be_is_refused(server, fields, param):
    response = requests.post(server.url + "/v1/completions", json={"prompt": "x", "max_tokens": 1, **fields}, timeout=20)
    assert response.status_code == 400 and response.json()["error"]["param"] == param, response.text


def test_saving_needs_a_directory(server):
    say(server, FIRST, session="no-directory")
    response = command(server, "POST", "no-directory/save")
    assert response.status_code == 400 and "session_dir" in response.json()["error"]["message"]
    command(server, "DELETE", "no-directory")


def with_sessions() -> list[str]:
    rows = engines().items()
    return [f"{provider}_{target}" for (target, provider), row in rows if row["available"] and "sessions" in row["capabilities"]]


@pytest.mark.parametrize("word", with_sessions())
def test_every_engine_that_says_so_brings_a_session_back(word, folder):
    with ServerProcess("--backend", word, **folder) as first:
        answer, _ = say(first, FIRST)
        chat = [*FIRST, answer, SECOND]
        expected, _ = say(first, chat, session=None)
        saved = command(first, "POST", "chat/save").json()
        assert saved["on_disk"] and saved["tokens"] > 10, saved
    with ServerProcess("--backend", word, **folder) as second:
        model = requests.get(second.url + "/v1/models", timeout=20).json()["data"][0]
        assert model["capabilities"]["supports_kv_save_restore"]
        reply, usage = say(second, chat)
        assert reply == expected
        assert usage["prompt_tokens_details"]["cached_tokens"] >= saved["tokens"] - 2
