"""Three hosts, of which one is cut off and comes back: network namespaces of this machine, with a switch (tools/hosts). As root."""

import sys
import threading
import time

import pytest
import ray
import requests
from conftest import PROGRAM, ROOT
from inferflux_serve import upstream
from inferflux_serve.app import build
from ray import serve
from ray.cluster_utils import Cluster
from test_cluster import QUESTION, eventually, free_port, servers

sys.path.insert(0, str(ROOT / "tools" / "hosts"))
from hosts import Hosts  # noqa: E402

SILENCE = upstream.SILENT_S + upstream.PROBE_S * upstream.PROBES  # until a connection to a lost host is an error
MANY_TOKENS = 1500


@pytest.fixture
def hosts():
    if why := Hosts.missing():
        pytest.skip(why)
    with Hosts(3) as running, running.on(1):
        yield running


@pytest.fixture
def url(hosts):
    cluster = Cluster()
    for number, address in enumerate(hosts.addresses, 1):
        with hosts.on(number):
            cluster.add_node(num_cpus=0 if number == 1 else 1, node_ip_address=address, include_dashboard=False)
    ray.init(address=cluster.address, logging_level="warning", _node_ip_address=hosts.addresses[0])
    port = free_port()
    serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
    model = {"id": "inferflux-tiny", "cpus": 1, "min_replicas": 2, "max_replicas": 2, "load_timeout_s": 120, "drain_timeout_s": 10}
    serve.run(build({"program": str(PROGRAM), "models": [model], "attempts": 4}), name="inferflux", route_prefix="/")
    yield f"http://127.0.0.1:{port}"
    serve.shutdown()
    ray.shutdown()
    cluster.shutdown()
    eventually(lambda: not servers(), 90)


class Asked:
    """A request on a thread of its own, and how it ended."""

    def __init__(self, url: str, **fields) -> None:
        self._url, self._fields = url, fields
        self.outcome, self.seconds, self.events = "", 0.0, []
        self.began = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        start = time.monotonic()
        body = {"model": "inferflux-tiny", "messages": QUESTION, "temperature": 0, **self._fields}
        try:
            with requests.post(self._url + "/v1/chat/completions", json=body, stream=True, timeout=120) as reply:
                for line in reply.iter_lines():
                    if line.startswith(b"data: "):
                        self.events.append(line[6:].decode())
                        self.began.set()
                    elif line:
                        self.events.append(line.decode())
                self.outcome = str(reply.status_code)
        except requests.RequestException as error:
            self.outcome = type(error).__name__
        self.seconds = time.monotonic() - start


def test_a_host_that_is_cut_off_costs_each_request_at_most_one_error(hosts, url):
    right = requests.post(url + "/v1/chat/completions", json={"messages": QUESTION, "temperature": 0}, timeout=60).json()["choices"][0]["message"]
    hosts.delay(0.001)
    long_ones = [Asked(url, stream=True, max_tokens=MANY_TOKENS, ignore_eos=True, messages=[{"role": "user", "content": f"Story {i}"}]) for i in range(8)]
    for asked in long_ones:
        assert asked.began.wait(60)
    hosts.cut(3)
    cut = time.monotonic()
    new_ones = [Asked(url, messages=QUESTION) for _ in range(8)]
    for asked in new_ones + long_ones:
        asked.thread.join(SILENCE + 60)
        assert not asked.thread.is_alive(), "a request hangs"
    took = time.monotonic() - cut
    # What had not begun to answer was answered by the host that is left, once.
    for asked in new_ones:
        assert asked.outcome == "200" and len(asked.events) == 1 and right["content"] in asked.events[0], (asked.outcome, asked.events)
    # A stream ended by itself, or with one error event.
    ends = ["error" if '"error"' in asked.events[-1] or '"error"' in asked.events[-2] else "whole" for asked in long_ones]
    print(f"streams: {ends}; all requests ended {took:.1f} s after the cut, the slowest new one after {max(a.seconds for a in new_ones):.1f} s")
    assert all(asked.outcome == "200" and sum('"error"' in event for event in asked.events) <= 1 for asked in long_ones)
    assert "error" in ends, "the cut met no stream"

    hosts.mend(3)
    eventually(lambda: all(Asked_once(url) for _ in range(8)), 120)


def Asked_once(url: str) -> bool:
    return requests.post(url + "/v1/chat/completions", json={"messages": QUESTION, "temperature": 0}, timeout=60).status_code == 200
