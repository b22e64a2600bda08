"""The application on three Ray nodes: streams, killed replicas, a lost node, an update, scaling."""

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import openai
import psutil
import pytest
import ray
import requests
from conftest import PROGRAM
from inferflux_serve.app import build
from ray import serve
from ray.cluster_utils import Cluster

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(check, seconds: float):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = check()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s: {check}")


def servers() -> list[psutil.Process]:
    """The inferfluxd that this test's replicas started."""
    out = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if command and command[0] == str(PROGRAM) and "--server-allowed-hosts" in command:
            out.append(process)
    return out


class Application:
    def __init__(self, cluster: Cluster, port: int) -> None:
        self.cluster = cluster
        self.url = f"http://127.0.0.1:{port}"
        self.client = openai.OpenAI(base_url=self.url + "/v1", api_key="none", timeout=120, max_retries=0)

    def deploy(self, **model) -> None:
        model = {"id": "inferflux-tiny", "cpus": 1, "min_replicas": 2, "max_replicas": 2, "load_timeout_s": 120, "drain_timeout_s": 60} | model
        serve.run(build({"program": str(PROGRAM), "models": [model], "attempts": 4}), name="inferflux", route_prefix="/")

    def ask(self, stream: bool, tokens: int = 64, **more) -> str:
        if not stream:
            answer = self.client.chat.completions.create(model="inferflux-tiny", messages=QUESTION, max_tokens=tokens, temperature=0, **more)
            return answer.choices[0].message.content
        pieces = self.client.chat.completions.create(model="inferflux-tiny", messages=QUESTION, max_tokens=tokens, temperature=0, stream=True, **more)
        return "".join(chunk.choices[0].delta.content or "" for chunk in pieces if chunk.choices)


@pytest.fixture(scope="module")
def application():
    port = free_port()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, logging_level="warning")
    serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
    app = Application(cluster, port)
    app.deploy()
    yield app
    serve.shutdown()
    ray.shutdown()
    cluster.shutdown()
    eventually(lambda: not servers(), 90)  # no server is left behind


class Load:
    """16 clients in a loop, half of them streaming. An answer is right, or an error that came after its first byte."""

    def __init__(self, app: Application, clients: int = 16) -> None:
        self._app, self._stop = app, threading.Event()
        self._pool = ThreadPoolExecutor(clients)
        self.expected = app.ask(False)
        self.right, self.cut, self.lost = 0, 0, []
        self._lock = threading.Lock()
        self._running = [self._pool.submit(self._client, number) for number in range(clients)]

    def _client(self, number: int) -> None:
        while not self._stop.is_set():
            began = False
            try:
                if number % 2:
                    text = self._app.ask(False)
                else:
                    text = ""
                    for chunk in self._app.client.chat.completions.create(model="inferflux-tiny", messages=QUESTION, max_tokens=64, temperature=0,
                                                                          stream=True):
                        began = True
                        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
                with self._lock:
                    if text == self.expected:
                        self.right += 1
                    else:
                        self.lost.append(f"wrong text: {text!r}")
            except Exception as error:  # noqa: BLE001: whatever the client raises is the result
                with self._lock:
                    if began:
                        self.cut += 1
                    else:
                        self.lost.append(repr(error))

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        for client in self._running:
            client.result(timeout=180)
        self._pool.shutdown()

    def await_answers(self, more: int, seconds: float = 60) -> None:
        wanted = self.right + more
        eventually(lambda: self.right >= wanted, seconds)


def test_the_openai_client_gets_answers_and_streams(application):
    assert "Paris" in application.ask(False) and application.ask(True) == application.ask(False)
    assert [model.id for model in application.client.models.list()] == ["inferflux-tiny"]
    with pytest.raises(openai.NotFoundError, match="no model 'other'"):
        application.client.chat.completions.create(model="other", messages=QUESTION)
    with pytest.raises(openai.BadRequestError, match="temperature"):
        application.ask(False, extra_body={"temperature": 9})
    refused = requests.post(application.url + "/v1/responses", json={"input": "hi"}, timeout=10)
    assert refused.status_code == 404 and "one server" in refused.json()["error"]["message"]
    stream = requests.post(application.url + "/v1/chat/completions", json={"messages": QUESTION, "stream": True}, timeout=60).text
    assert stream.rstrip().endswith("data: [DONE]") and stream.count("[DONE]") == 1
    anthropic = requests.post(application.url + "/v1/messages", json={"model": "inferflux-tiny", "max_tokens": 32, "messages": QUESTION}, timeout=60)
    assert "Paris" in anthropic.json()["content"][0]["text"]


def test_a_session_stays_on_one_replica(application):
    def requests_served() -> list[int]:
        out = []
        for process in servers():
            ports = [c.laddr for c in process.net_connections() if c.status == "LISTEN"]
            out.append(sum(c.status == "ESTABLISHED" for c in process.net_connections()) if ports else 0)
        return out

    text = "A long beginning. " * 100
    cached = []
    for turn in range(4):
        answer = application.client.chat.completions.create(
            model="inferflux-tiny", messages=[{"role": "user", "content": text[:600] + f" {turn}"}], max_tokens=4, extra_body={"session_id": "s1"})
        cached.append(answer.usage.prompt_tokens_details.cached_tokens)
    assert all(tokens > 0 for tokens in cached[1:]), (cached, requests_served())


def test_a_killed_server_loses_no_request_that_can_be_tried_again(application):
    with Load(application) as load:
        load.await_answers(50)
        victim = servers()[0]
        os.kill(victim.pid, signal.SIGKILL)
        load.await_answers(100)
        eventually(lambda: len(servers()) == 2, 60)  # Serve replaced the replica
        load.await_answers(50)
    assert load.lost == [] and load.cut <= 16


def test_a_lost_node_loses_no_request_that_can_be_tried_again(application):
    with Load(application) as load:
        load.await_answers(50)
        node = application.cluster.worker_nodes.copy().pop()
        application.cluster.remove_node(node, allow_graceful=False)
        load.await_answers(100, 120)
        application.cluster.add_node(num_cpus=2)
        eventually(lambda: len(servers()) == 2, 120)
        load.await_answers(50)
    assert load.lost == [] and load.cut <= 16


def test_an_update_under_load_loses_nothing(application):
    old = {process.pid for process in servers()}
    with Load(application) as load:
        load.await_answers(50)
        application.deploy(arguments=["--context", "512"])
        eventually(lambda: len(servers()) == 2 and not old & {process.pid for process in servers()}, 120)
        load.await_answers(50)
    assert load.lost == [] and load.cut == 0


def test_replicas_follow_the_load(application):
    application.deploy(min_replicas=1, max_replicas=2, requests_per_replica=4, upscale_delay_s=2, downscale_delay_s=4)
    eventually(lambda: len(servers()) == 1, 90)
    with Load(application) as load:
        eventually(lambda: len(servers()) == 2, 90)
        load.await_answers(20)
    eventually(lambda: len(servers()) == 1, 90)
    assert load.lost == []


def test_a_program_that_is_missing_is_named(application):
    with pytest.raises(RuntimeError):
        serve.run(build({"program": "no-such-inferfluxd", "models": [{"id": "inferflux-tiny"}]}), name="broken", route_prefix="/broken")
    message = serve.status().applications["broken"].deployments["model-inferflux-tiny"].message
    serve.delete("broken")
    assert "there is no program 'no-such-inferfluxd'" in message
