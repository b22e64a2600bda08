#!/usr/bin/env python3
"""Measures what a pool adds to a worker that is asked directly: time a request, and time between tokens.

usage: tools/measure/pool_overhead.py [--programs build/bin] [--model FILE] [--requests 400] [--streams 20]

Starts a pool with one worker, and a worker alone, and asks them in turn, so that noise meets both. Ends with a JSON line.
"""

import argparse
import http.client
import json
import re
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Direct:
    """inferflux-worker-cpu alone."""

    def __init__(self, options):
        self.process = subprocess.Popen([options.programs / "inferflux-worker-cpu", "--model", options.model, "--worker-port", "0", "--runtime-kv-budget", "256MiB"],
                                        stderr=subprocess.PIPE, text=True)
        self.url = next(found[1] for line in self.process.stderr if (found := re.search(r"listens on (http://\S+)", line)))
        # The worker logs each request: a full pipe would block it.
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()
        self.number = 0

    def body(self, prompt, count, stream):
        self.number += 1
        return "/execute", {"request_id": str(self.number), "prompt": prompt, "max_tokens": count, "ignore_eos": True,
                            "sampling": {"temperature": 0}}

    token = b'"type":"token"'


class Pool:
    """inferfluxd --pool with one worker."""

    def __init__(self, options):
        port_file = Path(tempfile.mkdtemp()) / "port"
        self.process = subprocess.Popen([options.programs / "inferfluxd", "--model", options.model, "--pool", "--port", "0",
                                         "--port-file", port_file, "--log-level", "error", "--runtime-kv-budget", "256MiB"])
        while not port_file.exists():
            time.sleep(0.05)
        self.url = port_file.read_text().strip()

    def body(self, prompt, count, stream):
        return "/v1/completions", {"prompt": prompt, "max_tokens": count, "ignore_eos": True, "temperature": 0, "stream": stream}

    token = b'"text":"'


class Client:
    """One kept connection."""

    def __init__(self, server):
        self.server = server
        self.connection = http.client.HTTPConnection(server.url.removeprefix("http://"))

    def ready(self) -> bool:
        self.connection.request("GET", "/readyz")
        answer = self.connection.getresponse()
        answer.read()
        return answer.status == 200

    def ask(self, prompt, count, stream):
        """Seconds until the end, and the times at which tokens came."""
        path, body = self.server.body(prompt, count, stream)
        text = json.dumps(body)
        began = time.perf_counter()
        self.connection.request("POST", path, text, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        assert answer.status == 200, answer.read()
        times = []
        while line := answer.readline():
            if self.server.token in line:
                times.append(time.perf_counter())
        answer.close()
        return time.perf_counter() - began, times


def tokens_of(client, text):
    client.connection.request("POST", "/tokenize", json.dumps({"content": text}), {"Content-Type": "application/json"})
    return json.loads(client.connection.getresponse().read())["tokens"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "bin")
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "tiny" / "inferflux-tiny.gguf")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=200, help="of a stream")
    options = parser.parse_args()
    servers = {}
    try:
        servers = {"direct": Direct(options), "pool": Pool(options)}
        clients = {name: Client(server) for name, server in servers.items()}
        while not all(client.ready() for client in clients.values()):
            time.sleep(0.1)
        prompt = tokens_of(clients["pool"], "The capital of France is")
        seconds = {name: [] for name in clients}
        gaps = {name: [] for name in clients}
        for i in range(options.requests):
            for name, client in list(clients.items())[:: 1 if i % 2 else -1]:
                seconds[name].append(client.ask(prompt, 1, False)[0])
        for i in range(options.streams):
            for name, client in list(clients.items())[:: 1 if i % 2 else -1]:
                times = client.ask(prompt, options.tokens, True)[1]
                # Of a whole stream: one read may bring several tokens, so single gaps say nothing.
                gaps[name].append((times[-1] - times[0]) / (len(times) - 1))
    finally:
        for server in servers.values():
            server.process.terminate()
            server.process.wait()
    tenth = max(1, options.requests // 10)
    p50 = {name: statistics.median(values) * 1e3 for name, values in seconds.items()}
    parts = [(statistics.median(seconds["pool"][i:i + tenth]) - statistics.median(seconds["direct"][i:i + tenth])) * 1e3
             for i in range(0, options.requests, tenth)]
    ratios = [pool / direct for pool, direct in zip(gaps["pool"], gaps["direct"])]
    print(json.dumps({"direct_p50_ms": round(p50["direct"], 3), "pool_p50_ms": round(p50["pool"], 3),
                      "overhead_p50_ms": round(p50["pool"] - p50["direct"], 3),
                      "overhead_ms_of_tenths": [round(min(parts), 3), round(max(parts), 3)],
                      "token_gap_ms": {name: round(statistics.median(values) * 1e3, 3) for name, values in gaps.items()},
                      "token_gap_ratio": round(statistics.median(ratios), 4),
                      "token_gap_ratio_spread": [round(min(ratios), 4), round(max(ratios), 4)]}))


if __name__ == "__main__":
    main()
