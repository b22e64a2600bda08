"""A worker program, alone and with a pool that the test plays."""

import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
import requests
from server_process import MODEL, PROGRAMS, clean_environment, eventually, program
from worker_contract import SCHEMA, check, check_event


def workers() -> list[str]:
    return sorted(path.name.removeprefix("inferflux-worker-") for path in PROGRAMS.glob("inferflux-worker-*"))


class Worker:
    """A worker process. Always stopped by its own pid."""

    def __init__(self, *flags: str, backend: str = "cpu", model: Path = MODEL, wait: bool = True):
        self.process = subprocess.Popen([program(f"inferflux-worker-{backend}"), "--model", str(model), *flags],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=clean_environment())
        self.lines: list[str] = []
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self._reader.start()
        if wait:
            assert eventually(lambda: self.url and self.ready(), 60), self.lines

    @property
    def url(self) -> str | None:
        return next((found[1] for line in list(self.lines) if (found := re.search(r"listens on (http://\S+)", line))), None)

    def ready(self) -> bool:
        return requests.get(self.url + "/readyz", timeout=5).status_code == 200

    def execute(self, **fields):
        """The events of a generation."""
        body = {"request_id": os.urandom(6).hex(), "text": "The capital of France is", "sampling": {"temperature": 0}, **fields}
        check(body, "ExecuteRequest")
        answer = requests.post(self.url + "/execute", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
        for event in events:
            check_event(event)
        return events

    def stop(self, how: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self._reader.join(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Pool:
    """Takes the callbacks of a worker, checks each against the contract, and answers with `status`."""

    def __init__(self):
        self.status = 200
        self.messages: list[tuple[str, dict]] = []
        self.broken: list[str] = []
        pool = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            names = {"/pool/ready": "ReadyCallback", "/pool/heartbeat": "Heartbeat", "/pool/deregister": "Deregistration"}

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    check(message, self.names[self.path])
                except Exception as error:  # a failure here would only be a closed connection
                    pool.broken.append(f"{self.path}: {error}")
                pool.messages.append((self.path.rsplit("/", 1)[1], message))
                self.send_response(pool.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/pool"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, kind: str) -> list[dict]:
        return [message for what, message in list(self.messages) if what == kind]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def pool():
    running = Pool()
    yield running
    running.close()
    assert not running.broken


@pytest.mark.parametrize("backend", workers())
def test_a_worker_serves_alone(backend):
    with Worker(backend=backend) as worker:
        info = requests.get(worker.url + "/info", timeout=5).json()
        check(info, "WorkerInfo")
        assert info["state"] == "ready" and info["engine"]["backend"]
        events = worker.execute(max_tokens=8)
        assert [event["type"] for event in events][0] == "started"
        assert [event["type"] for event in events][-2:] == ["metrics", "end"]
        assert "Paris" in "".join(event["text"] for event in events if event["type"] == "token")
        assert worker.stop() == 0


def test_a_worker_takes_its_device_by_its_id():
    with Worker("--device", "cpu") as worker:
        assert worker.execute(max_tokens=3)[-1]["type"] == "end"
    with Worker("--device", "0000:c1:00.0", wait=False) as lost:
        assert lost.process.wait(60) == 3, "the exit code of a model that cannot be loaded"
        lost._reader.join(5)
        assert any("no device 0000:c1:00.0: this backend has 0 (" in line for line in lost.lines), lost.lines


def test_each_worker_links_its_own_backend_and_no_other():
    marks = {"llama": re.compile(r"\b(llama|ggml)_"), "mlx": re.compile(r"\bmlx::")}
    for backend in workers():
        path = program(f"inferflux-worker-{backend}")
        symbols = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
        headers = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
        for other, mark in marks.items():
            if other == backend:
                continue
            assert not mark.search(symbols), (backend, mark.search(symbols)[0])
            assert not re.search(rf"NEEDED\s+lib({other}|{'ggml' if other == 'llama' else other})", headers), backend
        if backend != "cpu":
            assert marks[backend].search(symbols), backend


def test_all_that_is_wrong_with_a_request_is_told_and_none_of_it_repeated():
    with Worker() as worker:
        answer = requests.post(worker.url + "/execute", timeout=10, json={
            "request_id": "", "text": "a secret prompt", "max_tokens": -1, "sampling": {"top_p": 7}, "shape": "round"})
        assert answer.status_code == 400
        check(answer.json(), "InvalidRequest")
        assert {error["field"] for error in answer.json()["errors"]} == {"request_id", "max_tokens", "sampling.top_p", "shape"}
        assert "secret" not in answer.text


def test_a_grammar_crosses_as_its_source():
    with Worker() as worker:
        events = worker.execute(text="A number:", grammar={"kind": "regex", "source": "[0-9]{4}"}, max_tokens=20)
        assert re.fullmatch("[0-9]{4}", "".join(event["text"] for event in events if event["type"] == "token"))


def test_a_worker_registers_and_says_goodbye(pool):
    with Worker("--worker-id", "w7", "--callback-url", pool.url, "--worker-heartbeat-seconds", "1") as worker:
        assert eventually(lambda: pool.of("ready"), 20)
        ready = pool.of("ready")[0]
        assert ready["worker_id"] == "w7" and ready["uri"] == worker.url and ready["memory_bytes"] > 0
        assert ready["backend"] == "cpu/native" and "generation" in ready["capabilities"]
        count = len(pool.of("heartbeat"))
        assert eventually(lambda: len(pool.of("heartbeat")) >= count + 2, 10)
        assert worker.stop() == 0
    goodbye = pool.of("deregister")[-1]
    assert goodbye["worker_id"] == "w7" and goodbye["code"] == "CANCELLED"


def test_a_worker_that_no_pool_takes_ends_with_its_own_exit_code(pool):
    pool.status = 500
    worker = Worker("--callback-url", pool.url, wait=False)
    began = time.monotonic()
    assert worker.process.wait(60) == 4
    assert time.monotonic() - began > 14  # 0, 1, 2, 4 and 8 s
    assert len(pool.of("ready")) == 5
    assert any("ready callback" in line for line in worker.lines)


def test_a_model_that_cannot_be_loaded_is_told_with_its_reason(pool, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(MODEL.read_bytes()[:5000])
    worker = Worker("--callback-url", pool.url, model=broken, wait=False)
    assert worker.process.wait(60) == 3
    assert pool.of("deregister")[-1]["code"] == "MODEL_LOAD_FAILED"


def test_a_model_beyond_the_memory_budget_is_refused_with_both_figures(pool):
    worker = Worker("--callback-url", pool.url, "--memory-budget", "4MiB", wait=False)
    assert worker.process.wait(60) == 6
    goodbye = pool.of("deregister")[-1]
    assert goodbye["code"] == "INSUFFICIENT_MEMORY"
    assert "10 MiB" in goodbye["reason"] and "4 MiB" in goodbye["reason"]


def test_a_stop_lets_running_streams_finish_and_refuses_new_ones():
    with Worker("--runtime-kv-budget", "64MiB") as worker:
        body = {"request_id": "long", "text": "Once upon a time", "max_tokens": 1500, "ignore_eos": True}
        with requests.post(worker.url + "/execute", json=body, stream=True, timeout=60) as answer:
            lines = answer.iter_lines()
            assert b"started" in next(lines)
            worker.process.send_signal(signal.SIGTERM)
            assert eventually(lambda: requests.get(worker.url + "/readyz", timeout=5).json()["state"] == "draining", 5)
            refused = requests.post(worker.url + "/execute", json={**body, "request_id": "late"}, timeout=10)
            assert refused.status_code == 503 and refused.headers["Retry-After"]
            check(refused.json(), "error")
            events = [json.loads(line[6:]) for line in lines if line]
        assert events[-1]["type"] == "end" and events[-1]["tokens_out"] == 1500
        assert worker.process.wait(30) == 0


def test_without_a_token_a_worker_listens_on_this_machine_only(tmp_path):
    refused = subprocess.run([program("inferflux-worker-cpu"), "--model", str(MODEL), "--host", "0.0.0.0"],
                             capture_output=True, text=True, timeout=30, env=clean_environment())
    assert refused.returncode == 2 and "token" in refused.stderr
    secret = tmp_path / "token"
    secret.write_text("correct-horse-battery\n")
    with Worker("--token-file", str(secret), wait=False) as worker:
        assert eventually(lambda: worker.url, 30)
        assert requests.get(worker.url + "/info", timeout=5).status_code == 401
        allowed = {"Authorization": "Bearer correct-horse-battery"}
        assert requests.get(worker.url + "/info", headers=allowed, timeout=5).status_code == 200
        assert requests.get(worker.url + "/healthz", timeout=5).status_code == 200
        worker.stop()
        assert not any("correct-horse" in line for line in worker.lines)


def test_the_contract_is_the_one_that_the_program_prints():
    printed = subprocess.run([program("inferflux-worker-cpu"), "--print-contract"], capture_output=True, text=True,
                             timeout=30, check=True, env=clean_environment())
    assert json.loads(printed.stdout) == SCHEMA
