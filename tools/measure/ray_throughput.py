#!/usr/bin/env python3
"""Compares what two replicas give through Ray Serve with what the same two servers give when they are asked directly.

usage: tools/measure/ray_throughput.py --model FILE [--programs build/bin] [--clients 8] [--tokens 24] [--rounds 4]

Starts a Ray node on this machine with two replicas of one thread each, and pins each server to a core of its own. Then closed
loops of streaming clients ask for completions, in turn through Ray and directly, so that noise meets both. Every answer is
counted token by token. Needs what tests/ray needs (tests/ray/requirements.txt) and two cores. Ends with a JSON line.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import secrets
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPLICATION = ROOT / "deploy" / "ray"
sys.path.insert(0, str(APPLICATION))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(APPLICATION), os.environ.get("PYTHONPATH")]))  # for Ray's workers
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
for patience in ("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S"):  # a busy machine starts it slowly
    os.environ.setdefault(patience, "60")

import aiohttp  # noqa: E402
import psutil  # noqa: E402
import ray  # noqa: E402
from inferflux_serve.app import build  # noqa: E402
from ray import serve  # noqa: E402

VOCABULARY = 20_000  # token ids below this are sent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def servers_of(keys: Path) -> list[psutil.Process]:
    """The servers of this run: its file of keys names them."""
    return [process for process in psutil.process_iter(["cmdline"]) if (command := process.info["cmdline"] or [])
            and command[0].endswith("inferfluxd") and str(keys) in command]


def pin(process: psutil.Process, core: int) -> str:
    """All of its threads to one core. Returns its address."""
    for thread in process.threads():
        os.sched_setaffinity(thread.id, {core})
    command = process.cmdline()
    return Path(command[command.index("--port-file") + 1]).read_text().strip()


async def ask(session: aiohttp.ClientSession, url: str, pick: random.Random, options) -> int:
    prompt = [pick.randrange(1_000, VOCABULARY) for _ in range(options.prompt)]
    body = {"prompt": prompt, "max_tokens": options.tokens, "temperature": 0, "ignore_eos": True, "stream": True,
            "stream_options": {"include_usage": True}}
    tokens = 0
    async with session.post(url + "/v1/completions", json=body) as answer:
        if answer.status != 200:
            raise RuntimeError(f"{url} answered {answer.status}: {(await answer.text())[:300]}")
        async for line in answer.content:
            if line.startswith(b"data: {"):
                event = json.loads(line[6:])
                if "error" in event:
                    raise RuntimeError(event["error"])
                tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    if tokens != options.tokens:
        raise RuntimeError(f"{url} sent {tokens} tokens of {options.tokens}")
    return tokens


async def run(urls: list[str], key: str, pick: random.Random, options) -> float:
    """Output tokens a second of all clients: the same number on each of `urls`."""
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}, timeout=aiohttp.ClientTimeout(600)) as session:
        async def client(url: str) -> int:
            return sum([await ask(session, url, pick, options) for _ in range(options.requests)])

        began = time.perf_counter()
        tokens = await asyncio.gather(*(client(urls[i % len(urls)]) for i in range(options.clients)))
        return sum(tokens) / (time.perf_counter() - began)


def await_servers(keys: Path) -> list[psutil.Process]:
    until = time.monotonic() + 60
    while len(found := servers_of(keys)) != 2:
        if time.monotonic() > until:
            raise RuntimeError(f"there are {len(found)} servers, not 2")
        time.sleep(0.2)
    return found


def measure(options, folder: Path) -> dict:
    key, keys, port = secrets.token_hex(16), folder / "keys", free_port()
    keys.write_text(hashlib.sha256(key.encode()).hexdigest() + " read,generate,metrics\n")
    model = {"id": "model", "path": str(options.model.resolve()), "cpus": 1, "min_replicas": 2, "max_replicas": 2,
             "arguments": ["--runtime-kv-budget", "512MiB"]}
    ray.init(num_cpus=2, include_dashboard=False, logging_level="warning")
    try:
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
        serve.run(build({"program": str((options.programs / "inferfluxd").resolve()), "models": [model], "api_keys_file": str(keys)}),
                  name="inferflux", route_prefix="/")
        cores = sorted(os.sched_getaffinity(0))[:2]
        direct = [pin(process, core) for process, core in zip(await_servers(keys), cores)]
        ways = {"direct": direct, "ray": [f"http://127.0.0.1:{port}"]}
        pick = random.Random(options.seed)
        rates = {name: [] for name in ways}
        for number in range(options.rounds + 1):
            for name, urls in list(ways.items())[:: 1 if number % 2 else -1]:
                rate = asyncio.run(run(urls, key, pick, options))
                if number > 0:  # the first warms up
                    rates[name].append(rate)
                    print(f"{name}: {rate:.1f} tokens/s", file=sys.stderr, flush=True)
    finally:
        serve.shutdown()
        ray.shutdown()
    ratios = [a / b for a, b in zip(rates["ray"], rates["direct"])]
    return {**{f"{name}_tokens_per_s": [round(rate, 1) for rate in each] for name, each in rates.items()},
            "ratio": round(statistics.median(ratios), 3), "ratio_spread": [round(min(ratios), 3), round(max(ratios), 3)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "bin")
    parser.add_argument("--model", type=Path, required=True, help="slow enough that it, and not Ray's proxy, is what clients wait for")
    parser.add_argument("--clients", type=int, default=8, help="even: half of them on each server")
    parser.add_argument("--requests", type=int, default=2, help="of each client in a round")
    parser.add_argument("--prompt", type=int, default=16, help="tokens of a prompt")
    parser.add_argument("--tokens", type=int, default=24, help="of an answer")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(options, Path(folder))))


if __name__ == "__main__":
    main()
