"""What the server says of itself while it works: live figures, timelines of requests, memory, and what a key allows."""

import hashlib
import json
import time

import pytest
import requests
from server_process import ServerProcess, eventually

CHAT = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "temperature": 0, "max_tokens": 12}
POOL = ("--pool", "--runtime-kv-budget", "64MiB")


def figures(server, count):
    """The first events of the feed."""
    out = []
    with requests.get(server.url + "/v1/live", stream=True, timeout=20) as feed:
        assert feed.headers["Content-Type"].startswith("text/event-stream")
        for line in feed.iter_lines():
            if line.startswith(b"data: "):
                out.append(json.loads(line[6:]))
            if len(out) == count:
                return out
    return out


def test_the_feed_counts_what_is_generated(server):
    first = figures(server, 1)[0]
    requests.post(server.url + "/v1/chat/completions", json={**CHAT, "ignore_eos": True}, timeout=60).raise_for_status()
    later = figures(server, 1)[0]
    assert later["completion_tokens"] - first["completion_tokens"] == 12
    assert later["prompt_tokens"] + later["cached_tokens"] > first["prompt_tokens"] + first["cached_tokens"]
    bounds = [bound for bound, _ in later["inter_token_latency"]]
    assert bounds[-1] is None and bounds[:-1] == sorted(bounds[:-1])
    assert later["inter_token_latency"][-1][1] > 0
    assert later["kv_blocks"]["free"] > 0 and not later["pooled"]
    # The answer ends with its last token, a moment before its sequence does.
    assert eventually(lambda: figures(server, 1)[0]["models"][0]["running"] == 0)


def test_the_feed_comes_again_and_again(server):
    one, two = figures(server, 2)
    assert 500 < two["at"] - one["at"] < 5000


def test_an_open_feed_does_not_hold_up_the_end():
    with ServerProcess("--server-grace-seconds", "60") as own:
        feed = requests.get(own.url + "/v1/live", stream=True, timeout=20)
        next(feed.iter_lines())
        began = time.monotonic()
        assert own.stop() == 0
        assert time.monotonic() - began < 30


def test_workers_are_in_the_feed():
    with ServerProcess(*POOL, "--workers-count", "2") as pool:
        requests.post(pool.url + "/v1/chat/completions", json=CHAT, timeout=60).raise_for_status()
        now = figures(pool, 1)[0]
        assert now["pooled"] and [worker["state"] for worker in now["workers"]] == ["serving", "serving"]
        assert now["completion_tokens"] > 0
        assert set(now["workers"][0]) == {"id", "model", "backend", "state", "seconds", "restarts", "running", "waiting"}


@pytest.mark.parametrize("flags", [(), POOL], ids=["alone", "pool"])
def test_a_request_has_a_timeline(flags):
    with ServerProcess(*flags, "--runtime-max-batch-tokens", "16") as own:
        long = {**CHAT, "messages": [{"role": "user", "content": "Tell me a story about a fox. " * 10}]}
        answer = requests.post(own.url + "/v1/chat/completions", json=long, headers={"X-Request-Id": "my-request"}, timeout=60)
        assert answer.headers["X-Request-Id"] == "my-request"
        found = requests.get(own.url + "/v1/requests/my-request", timeout=10).json()["generations"]
        assert len(found) == 1
        kinds = [phase["kind"] for phase in found[0]["phases"]]
        assert kinds[0] == "queued" and kinds.count("prefill") > 2 and kinds[-1] == "decode"
        usage = answer.json()["usage"]
        assert (found[0]["prompt_tokens"], found[0]["completion_tokens"]) == (usage["prompt_tokens"], usage["completion_tokens"])
        assert sum(phase["tokens"] for phase in found[0]["phases"] if phase["kind"] == "prefill") == usage["prompt_tokens"]
        assert all(phase["begin"] <= phase["end"] for phase in found[0]["phases"])
        listed = requests.get(own.url + "/v1/requests", timeout=10).json()["data"]
        assert listed[0]["id"] == "my-request" and "phases" not in listed[0]


def test_a_request_that_its_client_left_is_there_too(server):
    body = {**CHAT, "max_tokens": 1500, "ignore_eos": True, "stream": True}
    with requests.post(server.url + "/v1/chat/completions", json=body, headers={"X-Request-Id": "left"}, stream=True, timeout=60) as answer:
        next(answer.iter_lines())
    assert eventually(lambda: requests.get(server.url + "/v1/requests/left", timeout=10).status_code == 200)
    assert requests.get(server.url + "/v1/requests/left", timeout=10).json()["generations"][0]["outcome"] == "cancelled"


def test_an_unknown_request_is_named(server):
    answer = requests.get(server.url + "/v1/requests/no-such-request", timeout=10)
    assert answer.status_code == 404 and "no-such-request" in answer.json()["error"]["message"]


def test_memory_is_beside_what_the_machine_has(server):
    memory = requests.get(server.url + "/v1/admin/memory", timeout=10).json()
    assert 0 < memory["used_bytes"] <= memory["budget_bytes"] <= memory["host"]["total_bytes"]
    assert memory["host"]["free_bytes"] < memory["host"]["total_bytes"]
    assert sum(holder["bytes"] for holder in memory["holders"]) == memory["used_bytes"]


def test_a_key_sees_its_scopes_and_its_own_requests(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("".join(f"{hashlib.sha256(key.encode()).hexdigest()} {scopes}\n" for key, scopes in
                            [("ann", "read,generate"), ("bob", "read,generate"), ("root", "read,admin")]))
    with ServerProcess("--server-api-keys-file", str(keys)) as own:
        def get(path, key=None):
            return requests.get(own.url + path, headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=10)

        assert [scope["name"] for scope in get("/v1/key", "ann").json()["scopes"]] == ["read", "generate"]
        assert get("/v1/key", "ann").json()["required"]
        assert get("/v1/key").status_code == get("/v1/key", "wrong").status_code == 401
        requests.post(own.url + "/v1/chat/completions", json=CHAT, timeout=60,
                      headers={"Authorization": "Bearer ann", "X-Request-Id": "of-ann"}).raise_for_status()
        assert get("/v1/requests/of-ann", "ann").status_code == 200
        assert get("/v1/requests/of-ann", "bob").status_code == 404 and get("/v1/requests", "bob").json()["data"] == []
        assert get("/v1/requests/of-ann", "root").status_code == 200
        assert get("/v1/requests").status_code == 401


def test_without_keys_every_scope_is_there(server):
    key = requests.get(server.url + "/v1/key", timeout=10).json()
    assert not key["required"] and [scope["name"] for scope in key["scopes"]] == ["read", "generate", "load", "metrics", "admin"]
