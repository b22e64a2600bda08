"""inferfluxd --pool: models in worker processes, which die and return."""

import datetime
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import openai
import pytest
import requests
from server_process import MODEL, PROGRAMS, ServerProcess, clean_environment, eventually, program
from worker_contract import check

POOL = ("--pool", "--workers-heartbeat-seconds", "2", "--runtime-kv-budget", "64MiB")
KILLS = int(os.environ.get("INFERFLUX_SOAK_KILLS", "20"))


def workers(server) -> list[dict]:
    return requests.get(server.url + "/v1/admin/workers", timeout=10).json()["data"]


def serving(server) -> list[dict]:
    return [worker for worker in workers(server) if worker["state"] == "serving"]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def client_of(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=60)


def ask(server, prompt="What is the capital of France?", model="default", **fields):
    messages = [{"role": "user", "content": prompt}]
    return client_of(server).chat.completions.create(model=model, temperature=0, messages=messages, **fields)


@pytest.fixture(scope="module")
def pool():
    with ServerProcess(*POOL, "--workers-count", "2") as running:
        yield running


def test_a_model_in_workers_answers_as_one_in_the_server(pool, server):
    for fields in ({}, {"logprobs": True, "top_logprobs": 3}, {"stop": ["is"]}, {"max_tokens": 3}):
        ours, theirs = ask(pool, **fields).choices[0], ask(server, **fields).choices[0]
        assert ours.message.content == theirs.message.content
        assert ours.finish_reason == theirs.finish_reason
        assert ours.logprobs == theirs.logprobs


def test_workers_get_the_device_that_was_chosen():
    with ServerProcess(*POOL, "--device", "cpu") as server:
        assert "Paris" in ask(server).choices[0].message.content
        refused = requests.post(server.url + "/v1/admin/models", timeout=60, json={"path": str(MODEL), "id": "a", "device": "0000:c1:00.0"})
        assert refused.status_code == 400 and "no device 0000:c1:00.0" in refused.text


def test_tools_grammars_and_embeddings_work_as_above_any_engine(pool, server):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    answer = ask(pool, "How many?", response_format=form, max_tokens=60)
    assert list(json.loads(answer.choices[0].message.content)) == ["n"]
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
    calls = [ask(which, "Weather in Paris?", tools=[tool], tool_choice="required", max_tokens=120).choices[0].message.tool_calls
             for which in (pool, server)]
    assert calls[0][0].function.arguments == calls[1][0].function.arguments
    vectors = [client_of(which).embeddings.create(model="default", input="hello").data[0].embedding for which in (pool, server)]
    assert vectors[0] == vectors[1]
    with pytest.raises(openai.BadRequestError):
        ask(pool, "x", extra_body={"guided_regex": "("})


def test_a_stream_has_the_text_of_the_whole_answer(pool):
    whole = ask(pool, "Tell me about the sea.", max_tokens=60).choices[0].message.content
    stream = ask(pool, "Tell me about the sea.", max_tokens=60, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == whole


def test_the_workers_are_listed_and_named_in_the_exposure(pool):
    listed = workers(pool)
    assert [worker["state"] for worker in listed] == ["serving", "serving"]
    assert all(alive(worker["pid"]) for worker in listed)
    model = requests.get(pool.url + "/v1/models", timeout=10).json()["data"][0]
    attempt = model["backend_exposure"]["attempts"][-1]
    assert attempt["outcome"] == "loaded" and attempt["workers"] == [worker["id"] for worker in listed]
    shown = subprocess.run([program("inferctl"), "--url", pool.url, "workers", "list"], capture_output=True, text=True,
                           timeout=30, env=clean_environment())
    assert shown.returncode == 0 and all(worker["id"] in shown.stdout for worker in listed)
    logs = subprocess.run([program("inferctl"), "--url", pool.url, "workers", "logs", listed[0]["id"]], capture_output=True,
                          text=True, timeout=30, env=clean_environment())
    assert "is ready on cpu" in logs.stdout


def test_a_server_without_a_pool_has_no_workers(server):
    answer = requests.get(server.url + "/v1/admin/workers", timeout=10)
    assert answer.status_code == 404 and "--pool" in answer.text


def test_a_session_stays_with_its_worker(pool):
    for _ in range(4):
        ask(pool, "Remember the word apple.", extra_body={"session_id": "one"}, max_tokens=8)
    sessions = requests.get(pool.url + "/v1/sessions", timeout=10).json()["data"]
    assert [session["id"] for session in sessions] == ["one"]  # on one worker only
    assert requests.delete(pool.url + "/v1/sessions/one", timeout=10).json()["deleted"]


def test_requests_with_one_prefix_go_to_one_worker(pool):
    before = pool.metric("inferflux_worker_prefix_tokens_total")
    text = "The quick brown fox jumps over the lazy dog. " * 12
    for i in range(4):
        client_of(pool).completions.create(model="default", prompt=text + str(i), max_tokens=2)
    assert pool.metric("inferflux_worker_prefix_tokens_total") > before + 3 * 60


def test_a_disconnected_client_frees_its_sequence(pool):
    with requests.post(pool.url + "/v1/completions", stream=True, timeout=30, json={
            "prompt": "Once", "max_tokens": 1900, "ignore_eos": True, "stream": True}) as answer:
        next(answer.iter_lines())
    assert eventually(lambda: sum(worker["in_flight"] for worker in workers(pool)) == 0, 5)


def test_an_operator_restarts_and_drains_a_worker(pool):
    first = workers(pool)[0]
    run = lambda *words: subprocess.run([program("inferctl"), "--url", pool.url, "workers", *words], timeout=30,
                                        env=clean_environment(), check=True)
    run("restart", first["id"])
    assert eventually(lambda: any(w["id"] == first["id"] and w.get("pid") not in (None, first["pid"]) and w["state"] == "serving"
                                  for w in workers(pool)), 30)
    run("drain", first["id"])
    assert eventually(lambda: workers(pool)[0]["state"] == "stopped", 30)
    assert "Paris" in ask(pool).choices[0].message.content  # the other one serves
    run("restart", first["id"])
    assert eventually(lambda: len(serving(pool)) == 2, 30)


class Load:
    """Clients that stream all the time. Each request must end exactly once."""

    def __init__(self, server, clients: int):
        self.server, self.stopping = server, False
        self.whole = self.failed = 0
        self.wrong: list[str] = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._run, args=(i,)) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def _run(self, number: int):
        pick = random.Random(number)
        while not self.stopping:
            body = {"prompt": f"Client {number} says {pick.random()}", "max_tokens": 40, "ignore_eos": True, "stream": True}
            try:
                with requests.post(self.server.url + "/v1/completions", json=body, stream=True, timeout=60) as answer:
                    data = [line[6:] for line in answer.iter_lines() if line.startswith(b"data: ")]
                    status = answer.status_code
            except requests.RequestException as error:
                with self.lock:
                    self.wrong.append(f"{error}")
                continue
            with self.lock:
                ends = data.count(b"[DONE]")
                errors = sum(b'"error"' in line for line in data)
                finishes = sum(b'"finish_reason":"length"' in line for line in data)
                if status == 503 and not data:
                    self.failed += 1
                    pause = 0.05
                elif status == 200 and (finishes, errors) == (1, 0) and ends == 1:
                    self.whole += 1
                    pause = 0
                elif status == 200 and (finishes, errors) == (0, 1):
                    self.failed += 1
                    pause = 0
                else:
                    self.wrong.append(f"{status}: {data[-2:]}")
                    pause = 0
            time.sleep(pause)

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(90)


def load_seconds(pool, worker_id: str) -> float:
    """What the last start of a worker took, from its process to its first request, by the pool's own log."""
    began = ready = 0.0
    for line in pool.log().splitlines():
        if not line.startswith("{"):
            continue
        entry = json.loads(line)
        stamp = datetime.datetime.fromisoformat(entry["time"].replace("Z", "+00:00")).timestamp()
        if entry["message"].startswith(f"worker {worker_id} of "):
            began = stamp
        elif entry["message"].startswith(f"worker {worker_id} serves "):
            ready = stamp
    return ready - began


def refuses_connections(url: str) -> bool:
    try:
        requests.get(url + "/healthz", timeout=2)
    except requests.ConnectionError:
        return True
    return False


def test_workers_that_are_killed_under_load_return_and_every_request_ends_once(tmp_path):
    pick = random.Random(3)
    flags = (*POOL, "--workers-count", "2", "--log-format", "json")
    with ServerProcess(*flags, environment={"TMPDIR": str(tmp_path)}) as pool:
        first_pids = {worker["id"]: worker["pid"] for worker in workers(pool)}
        load = Load(pool, 16)
        answered, delays = [], []
        for _ in range(KILLS):
            assert eventually(lambda: len(serving(pool)) == 2, 30), workers(pool)
            victim = pick.choice(serving(pool))
            wait = 6 - victim["seconds"]  # it had served for long enough to start again at once
            if wait > 0:
                time.sleep(wait)
            began = time.monotonic()
            os.kill(victim["pid"], signal.SIGKILL)
            assert requests.get(pool.url + "/healthz", timeout=5).status_code == 200
            answered.append(time.monotonic() - began)
            assert eventually(lambda: any(w["id"] == victim["id"] and w.get("pid", 0) not in (0, victim["pid"])
                                          for w in serving(pool)), 20)
            delays.append(time.monotonic() - began - load_seconds(pool, victim["id"]))
        load.stop()
        assert not load.wrong, load.wrong[:5]
        assert load.whole > KILLS
        # Medians: a busy machine may hold up one of them.
        assert statistics.median(answered) < 1, answered
        assert statistics.median(delays) < 1, delays  # beyond what its load takes
        assert sum(worker["restarts"] for worker in workers(pool)) == KILLS
        kept = {worker["id"] for worker in workers(pool)}
        assert kept == set(first_pids)
        pids = [worker["pid"] for worker in workers(pool)]
        urls = [pool.url, *(worker["uri"] for worker in workers(pool))]
        assert pool.stop() == 0
        assert not any(alive(pid) for pid in pids)
        assert all(refuses_connections(url) for url in urls)
        assert list(tmp_path.iterdir()) == []


def test_both_sides_keep_to_the_contract(tmp_path):
    recorder, record = Path(__file__).with_name("recording_worker.py"), tmp_path / "messages"
    script(tmp_path, f"#!/bin/sh\nexec {sys.executable} {recorder} \"$@\"\n")
    environment = {"RECORDED_WORKER": program("inferflux-worker-cpu"), "RECORDED_MESSAGES": str(record)}
    with ServerProcess(*POOL, "--workers-directory", str(tmp_path), "--backend", "native_cpu", environment=environment) as pool:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
        tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
        ask(pool, logprobs=True, top_logprobs=2, seed=3, stop=["."], logit_bias={"5": 1}, presence_penalty=0.5)
        ask(pool, response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}, max_tokens=20)
        ask(pool, tools=[tool], tool_choice="auto", max_tokens=20)
        ask(pool, tools=[tool], tool_choice="required", max_tokens=20)
        ask(pool, extra_body={"session_id": "one", "timeout": 30, "priority": 1}, user="me", max_tokens=4)
        client_of(pool).embeddings.create(model="default", input="hello")
        client_of(pool).completions.create(model="default", prompt=[1, 2, 3], max_tokens=3, n=2, echo=True, logprobs=1)
        requests.get(pool.url + "/v1/sessions", timeout=10)
        with requests.post(pool.url + "/v1/completions", stream=True, timeout=30, json={
                "prompt": "Once", "max_tokens": 1900, "ignore_eos": True, "stream": True}) as answer:
            next(answer.iter_lines())
        seen = lambda: [json.loads(line) for line in record.read_text().splitlines()]
        assert eventually(lambda: any(message["name"] == "CancelRequest" for message in seen()), 10)
        assert eventually(lambda: any(message["name"] == "Heartbeat" for message in seen()), 10)
    messages = seen()
    assert [message for message in messages if message["fault"]] == []
    assert {(message["side"], message["name"]) for message in messages} >= {
        ("pool", "ExecuteRequest"), ("pool", "CancelRequest"), ("pool", "SessionRequest"), ("worker", "ReadyCallback"),
        ("worker", "Heartbeat"), ("worker", "Deregistration"), ("worker", "WorkerInfo"), ("worker", "SessionList"),
        ("worker", "started"), ("worker", "token"), ("worker", "metrics"), ("worker", "end")}


def test_a_frozen_worker_counts_as_dead_after_three_missed_heartbeats():
    with ServerProcess("--pool", "--workers-heartbeat-seconds", "1", "--runtime-kv-budget", "64MiB") as pool:
        frozen = workers(pool)[0]
        os.kill(frozen["pid"], signal.SIGSTOP)
        began = time.monotonic()
        assert eventually(lambda: any(w.get("pid", 0) not in (0, frozen["pid"]) for w in serving(pool)), 30)
        assert 2.5 < time.monotonic() - began < 15
        assert "heartbeats" in workers(pool)[0]["last_end"]
        assert not alive(frozen["pid"])
        assert "Paris" in ask(pool).choices[0].message.content


def script(folder: Path, text: str, name: str = "inferflux-worker-cpu") -> None:
    """A worker program of the test's own making."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


def test_a_worker_that_keeps_dying_before_it_is_ready_opens_its_circuit(tmp_path):
    flag = tmp_path / "broken"
    script(tmp_path, f"#!/bin/sh\n[ -e {flag} ] && exit 9\nexec {program('inferflux-worker-cpu')} \"$@\"\n")
    with ServerProcess(*POOL, "--workers-directory", str(tmp_path), "--backend", "native_cpu") as pool:
        assert "Paris" in ask(pool).choices[0].message.content
        flag.touch()
        os.kill(workers(pool)[0]["pid"], signal.SIGKILL)
        assert eventually(lambda: workers(pool)[0]["state"] == "open", 45), workers(pool)
        assert "exit code 9" in workers(pool)[0]["last_end"]
        refused = requests.post(pool.url + "/v1/completions", json={"prompt": "x"}, timeout=10)
        assert refused.status_code == 503 and refused.headers["Retry-After"]
        flag.unlink()
        requests.post(f"{pool.url}/v1/admin/workers/{workers(pool)[0]['id']}/restart", timeout=10)
        assert eventually(lambda: len(serving(pool)) == 1, 30)
        assert "Paris" in ask(pool).choices[0].message.content


def test_a_stop_ends_the_workers_and_their_streams_finish():
    with ServerProcess(*POOL) as pool:
        pids = children(pool.process.pid)
        assert pids
        with requests.post(pool.url + "/v1/completions", stream=True, timeout=60, json={
                "prompt": "Once", "max_tokens": 600, "ignore_eos": True, "stream": True}) as answer:
            lines = answer.iter_lines()
            next(lines)
            pool.process.send_signal(signal.SIGTERM)
            rest = [line for line in lines if line]
        assert rest[-1] == b"data: [DONE]"
        assert pool.process.wait(30) == 0
        assert not any(alive(pid) for pid in pids)


def test_workers_end_with_a_pool_that_is_killed():
    with ServerProcess(*POOL) as pool:
        pids = children(pool.process.pid)
        assert pids
        pool.process.kill()
        assert eventually(lambda: not any(alive(pid) for pid in pids), 20)


def test_a_model_that_its_worker_cannot_load_is_refused_with_the_workers_reason(tmp_path):
    broken = tmp_path / "broken.gguf"
    data = bytearray(MODEL.read_bytes())
    broken.write_bytes(data[:len(data) // 2])
    with ServerProcess(*POOL) as pool:
        answer = requests.post(pool.url + "/v1/admin/models", json={"path": str(broken)}, timeout=60)
        assert answer.status_code >= 400
        assert len(workers(pool)) == 1 and "Paris" in ask(pool).choices[0].message.content


def test_a_model_is_loaded_and_unloaded_with_its_workers(pool):
    pids = set(children(pool.process.pid))
    loaded = requests.post(pool.url + "/v1/admin/models", json={"path": str(MODEL), "id": "second"}, timeout=120)
    assert loaded.status_code == 200, loaded.text
    assert len(workers(pool)) == 4
    assert "Paris" in ask(pool, model="second").choices[0].message.content
    assert requests.delete(pool.url + "/v1/admin/models/second", timeout=60).status_code == 200
    assert set(children(pool.process.pid)) == pids and len(workers(pool)) == 2


@pytest.mark.skipif(not (PROGRAMS / "inferflux-worker-llama").exists(), reason="this build has no llama.cpp")
def test_a_native_and_a_llama_worker_serve_side_by_side_while_one_is_killed(tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text(f"models:\n  - {{id: ours, path: {MODEL}, backend: native_cpu}}\n"
                      f"  - {{id: theirs, path: {MODEL}, backend: llama_cpp_cpu}}\n")
    with ServerProcess(*POOL, "--config", str(config), model=None) as pool:
        assert {worker["backend"] for worker in workers(pool)} == {"cpu (native)", "cpu (llama_cpp)"}
        victim = next(worker for worker in workers(pool) if worker["model"] == "theirs")
        stream = ask(pool, "Tell me a story.", model="ours", max_tokens=300, stream=True, extra_body={"ignore_eos": True})
        chunks = [next(iter(stream))]
        os.kill(victim["pid"], signal.SIGKILL)
        chunks += list(stream)
        assert chunks[-1].choices[0].finish_reason == "length"  # the neighbour lost nothing
        assert eventually(lambda: len(serving(pool)) == 2, 60)
        assert "Paris" in ask(pool, model="theirs").choices[0].message.content
