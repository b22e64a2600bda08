"""Two servers that share sessions through a directory."""

import pathlib
import time

import pytest
import requests
from server_process import ServerProcess, eventually
from test_sessions import FIRST, SECOND, command, say


@pytest.fixture
def store(tmp_path):
    key = tmp_path / "key"
    key.write_text("0123456789abcdef0123456789abcdef")
    return {"INFERFLUX_RUNTIME_SESSION_STORE": str(tmp_path / "store"), "INFERFLUX_RUNTIME_SESSION_STORE_KEY_FILE": str(key)}


def blobs(store) -> list[pathlib.Path]:
    return [p for p in pathlib.Path(store["INFERFLUX_RUNTIME_SESSION_STORE"]).rglob("*") if p.is_file()]


def cached(usage) -> int:
    return usage["prompt_tokens_details"]["cached_tokens"]


def test_a_chat_goes_on_at_another_server_after_its_own_is_killed(store):
    with ServerProcess(environment=store) as second:
        with ServerProcess(environment=store) as first:
            answer, _ = say(first, FIRST, session=None)
            chat = [*FIRST, answer, SECOND]
            expected, _ = say(first, chat, session=None)
            say(first, FIRST)
            assert command(first, "POST", "chat/save").status_code == 200
            first.process.kill()
            first.process.wait()
        assert len(blobs(store)) == 1
        reply, usage = say(second, chat)
        assert reply == expected and cached(usage) > 20
        assert command(second, "DELETE", "chat").json()["deleted"] is True
        assert eventually(lambda: not blobs(store))


def test_what_cannot_be_trusted_is_computed_again(store, tmp_path):
    with ServerProcess(environment=store) as first:
        answer, _ = say(first, FIRST)
        command(first, "POST", "chat/save")
        chat = [*FIRST, answer, SECOND]
        expected, _ = say(first, chat, session=None)
    (blob,) = blobs(store)
    whole = blob.read_bytes()
    (tmp_path / "other").write_text("another key that no other server has got")
    wrong_key = {**store, "INFERFLUX_RUNTIME_SESSION_STORE_KEY_FILE": str(tmp_path / "other")}
    other_kv = {**store, "INFERFLUX_RUNTIME_KV_DTYPE": "fp32"}
    for damaged, environment in ((whole[:-1], store), (whole[: len(whole) // 2] + b"x" + whole[len(whole) // 2 + 1 :], store),
                                 (b"", store), (whole, wrong_key), (whole, other_kv)):
        blob.write_bytes(damaged)
        with ServerProcess(environment=environment) as server:
            reply, usage = say(server, chat)
            assert cached(usage) == 0
            if environment is store:
                assert reply == expected and "session store" in server.log()


def test_a_store_that_goes_away_costs_nothing_but_the_kv(store, tmp_path):
    with ServerProcess(environment=store) as server:
        say(server, FIRST)
        command(server, "POST", "chat/save")
        pathlib.Path(store["INFERFLUX_RUNTIME_SESSION_STORE"]).rename(tmp_path / "gone")
        started = time.monotonic()
        say(server, FIRST, session="another")
        say(server, FIRST, session="a-third")
        assert time.monotonic() - started < 5
        assert eventually(lambda: server.metric("inferflux_session_file_errors_total") >= 1)


def test_a_store_that_cannot_be_used_is_named_at_the_start(store, tmp_path):
    (tmp_path / "short").write_text("x")
    for change, words in (({"INFERFLUX_RUNTIME_SESSION_STORE_KEY_FILE": ""}, "runtime.session_store_key_file"),
                          ({"INFERFLUX_RUNTIME_SESSION_STORE_KEY_FILE": str(tmp_path / "short")}, "32 to 4096 characters"),
                          ({"INFERFLUX_RUNTIME_SESSION_STORE": "s3://bucket"}, "AWS_ACCESS_KEY_ID"),
                          ({"INFERFLUX_RUNTIME_SESSION_STORE": "somewhere"}, "s3://BUCKET")):
        with pytest.raises(Exception) as refused, ServerProcess(environment={**store, **change}):
            pass
        assert words in str(refused.value)


def test_workers_of_a_pool_share_their_sessions(store):
    with ServerProcess("--pool", environment={**store, "INFERFLUX_WORKERS_COUNT": "1"}) as first:
        answer, _ = say(first, FIRST)
        assert command(first, "POST", "chat/save").status_code == 200
    with ServerProcess("--pool", environment={**store, "INFERFLUX_WORKERS_COUNT": "1"}) as second:
        _, usage = say(second, [*FIRST, answer, SECOND])
        assert cached(usage) > 20


def prompts_apart(store, **more):
    return {**store, "INFERFLUX_WORKERS_COUNT": "2", "INFERFLUX_WORKERS_PREFILL": "1", "INFERFLUX_RUNTIME_KV_BUDGET": "64MiB", **more}


def test_a_long_prompt_is_computed_by_one_worker_and_continued_by_another(store):
    long = "Tell me about " + ", ".join(f"thing {i}" for i in range(120))
    body = {"prompt": long, "max_tokens": 12, "temperature": 0, "ignore_eos": True}
    with ServerProcess() as alone:
        expected = requests.post(alone.url + "/v1/completions", json=body, timeout=60).json()
    with ServerProcess("--pool", environment=prompts_apart(store)) as pool:
        answer = requests.post(pool.url + "/v1/completions", json=body, timeout=60).json()
        assert answer["choices"][0]["text"] == expected["choices"][0]["text"]
        usage = answer["usage"]
        assert usage["prompt_tokens"] > 256 and cached(usage) == usage["prompt_tokens"] - 1
        assert pool.metric("inferflux_worker_prefills_total") == 1
        assert eventually(lambda: not blobs(store)), "it is used once"
        assert requests.get(pool.url + "/v1/sessions", timeout=20).json()["data"] == [], "it is not the client's session"
        short = requests.post(pool.url + "/v1/completions", json={**body, "prompt": "Once"}, timeout=60).json()
        assert cached(short["usage"]) == 0 and pool.metric("inferflux_worker_prefills_total") == 1


def test_a_prompt_whose_store_is_gone_is_computed_where_it_goes_on(store):
    long = "Tell me about " + ", ".join(f"thing {i}" for i in range(120))
    with ServerProcess("--pool", environment=prompts_apart(store)) as pool:
        folder = pathlib.Path(store["INFERFLUX_RUNTIME_SESSION_STORE"])
        folder.rename(folder.with_name("gone"))
        answer = requests.post(pool.url + "/v1/completions", json={"prompt": long, "max_tokens": 4}, timeout=60)
        assert answer.status_code == 200
        assert pool.metric("inferflux_worker_prefills_total") == 0


def test_workers_for_prompts_need_a_store_and_others(store):
    with pytest.raises(Exception, match="runtime.session_store"), ServerProcess("--pool", environment={"INFERFLUX_WORKERS_PREFILL": "1"}):
        pass
    with pytest.raises(Exception, match="at least one worker must generate"), \
            ServerProcess("--pool", environment=prompts_apart(store, INFERFLUX_WORKERS_COUNT="1")):
        pass
