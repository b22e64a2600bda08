#!/usr/bin/env python3
"""Measures what workers for prompts do for the others' streams: two workers that do both, and one that computes prompts
beside one that generates, in turn.

usage: tools/measure/prefill_apart.py --model FILE [--programs build/bin] [--streams 4] [--prompt 1000] [--seconds 15] [--rounds 3]

Some clients read streams without a pause; another client sends new long prompts, one after the other. Ends with a
JSON line: of the streams the time between tokens (median and 99th percentile) and tokens a second, of the prompts the time to
the first token and how many were answered.
"""

import argparse
import http.client
import json
import random
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Pool:
    def __init__(self, options, prefill):
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm")
        folder = Path(self.folder.name)
        (folder / "key").write_text("0123456789abcdef" * 4)
        self.process = subprocess.Popen(
            [options.programs / "inferfluxd", "--model", options.model, "--pool", "--port", "0", "--port-file", folder / "port",
             "--log-level", "error", "--runtime-kv-budget", "512MiB", "--threads", "1", "--workers-count", "2",
             "--workers-prefill", str(prefill), "--runtime-session-store", folder / "store",
             "--runtime-session-store-key-file", folder / "key"])
        while not (folder / "port").exists():
            time.sleep(0.05)
        self.port = int((folder / "port").read_text().strip().rsplit(":", 1)[1])
        while not self.ready():
            time.sleep(0.1)

    def ready(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200

    def stream(self, body):
        """The times at which pieces of text arrived."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("POST", "/v1/completions", json.dumps({**body, "stream": True, "ignore_eos": True, "temperature": 0}),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(answer.read())
        times = []
        for line in answer:
            if line.startswith(b"data: {"):
                times.append(time.monotonic())
        connection.close()
        return times

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def measure(options, prefill, seed):
    pool = Pool(options, prefill)
    until = [0.0]
    gaps, firsts, tokens = [], [], [0]

    def read(number):
        while time.monotonic() < until[0]:
            times = pool.stream({"prompt": f"Stream {number} begins:", "max_tokens": 200})
            gaps.extend(b - a for a, b in zip(times[1:], times[2:]))
            tokens[0] += len(times)

    def ask():
        chance = random.Random(seed)
        while time.monotonic() < until[0]:
            words = " ".join(str(chance.randrange(10, 100)) for _ in range(options.prompt // 3))
            began = time.monotonic()
            firsts.append(pool.stream({"prompt": words, "max_tokens": 2})[0] - began)

    try:
        pool.stream({"prompt": "warm up", "max_tokens": 4})
        until[0] = time.monotonic() + options.seconds
        threads = [threading.Thread(target=read, args=(i,)) for i in range(options.streams)] + [threading.Thread(target=ask)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
    finally:
        pool.stop()
    gaps.sort()
    return {"gap_p50_ms": 1000 * statistics.median(gaps), "gap_p99_ms": 1000 * gaps[int(0.99 * len(gaps))],
            "tokens_per_s": tokens[0] / took, "first_p50_ms": 1000 * statistics.median(firsts), "prompts": len(firsts)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--programs", type=Path, default=ROOT / "build/bin")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--prompt", type=int, default=1000, help="about so many tokens")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds = []
    for number in range(options.rounds):
        one = {name: measure(options, prefill, number) for name, prefill in (("together", 0), ("apart", 1))}
        rounds.append(one)
        print(json.dumps({name: {key: round(value, 1) for key, value in got.items()} for name, got in one.items()}), flush=True)
    print(json.dumps({name: {key: round(statistics.median(one[name][key] for one in rounds), 1) for key in rounds[0][name]}
                      for name in rounds[0]}))


if __name__ == "__main__":
    main()
