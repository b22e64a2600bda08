#!/usr/bin/env python3
"""One greedy client beside a polite one: how much longer does the polite one wait for its first token?

    python3 tools/chaos/chaos.py [--programs build/bin] [--model FILE] [--seconds 20] [--kinds big_n,hang_ups] [--json]

Starts inferfluxd on a free loopback port with two keys. For each kind of greed (greedy.py) the polite client asks for
short streams, one after the other, without and then with the greedy client. The goal for the 99th percentile of its
time to the first token: below three times that of the quiet server plus two steps, where a step is the median time
between two of its tokens beside the greedy client. Exits with 1 if a kind misses it and --check is given.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import greedy

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models" / "tiny" / "inferflux-tiny.gguf"


class Server:
    """inferfluxd with two keys, on a free port of the loopback address; stopped by its own pid."""

    def __init__(self, programs: Path, model: Path, flags: list[str]):
        self.folder = tempfile.TemporaryDirectory()
        base = Path(self.folder.name)
        keys = base / "keys"
        self.keys = {name: subprocess.run([programs / "inferctl", "keys", "create", name, "--file", keys], check=True,
                                          capture_output=True, text=True, timeout=30).stdout.strip()
                     for name in ("greedy", "polite")}
        port_file = base / "port"
        self.log = base / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [programs / "inferfluxd", "--port", "0", "--port-file", port_file, "--model", model, *flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin", "INFERFLUX_API_KEYS_FILE": str(keys)})
        try:
            self._await(port_file.exists)
            self.port = int(port_file.read_text().strip().rsplit(":", 1)[1])
            self._await(lambda: b" ready" in self.log.read_bytes() or self._answers())
        except BaseException:
            self.stop()
            raise

    def _answers(self) -> bool:
        return asyncio.run(self._ready())

    async def _ready(self) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        line = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
        return b" 200 " in line

    def _await(self, condition) -> None:
        for _ in range(2400):
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended:\n{self.log.read_text(errors='replace')}")
            if condition():
                return
            time.sleep(0.05)
        raise RuntimeError("the server is not ready")

    def target(self, name: str) -> greedy.Target:
        return greedy.Target("127.0.0.1", self.port, self.keys[name])

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


MOST_WAIT = 60  # seconds; a polite client that waits longer counts with that


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def ask(target: greedy.Target, tokens: int) -> list[float]:
    """The arrival times of a short stream's tokens, in seconds from the request."""
    body = json.dumps({"prompt": "Once upon a time", "max_tokens": tokens, "ignore_eos": True, "stream": True,
                       "logprobs": 0}).encode()
    began = time.perf_counter()
    reader, writer = await target.open()
    out = []
    try:
        writer.write(target.head("/v1/completions", len(body)) + body)
        try:
            status = await asyncio.wait_for(reader.readline(), MOST_WAIT)
        except asyncio.TimeoutError:
            return [float(MOST_WAIT)]
        if b" 200 " not in status:
            raise RuntimeError(f"the polite client was refused: {status!r} {await reader.read(2000)!r}")
        for _ in range(100 * tokens):
            line = await asyncio.wait_for(reader.readline(), MOST_WAIT)
            if not line or line.startswith(b"data: [DONE]"):
                break
            if line.startswith(b"data: {"):
                out.append(time.perf_counter() - began)
    finally:
        writer.close()
    if not out:
        raise RuntimeError("the polite client got no token")
    return out


class Polite:
    """What the polite client saw."""

    def __init__(self):
        self.first: list[float] = []
        self.gaps: list[float] = []

    async def run(self, target: greedy.Target, seconds: float) -> "Polite":
        until = time.perf_counter() + seconds
        for _ in range(100_000):
            late = any(wait >= MOST_WAIT for wait in self.first)
            if time.perf_counter() >= until and (len(self.first) >= 5 or late):
                break
            times = await ask(target, 8)
            self.first.append(times[0])
            self.gaps += [b - a for a, b in zip(times, times[1:])]
            await asyncio.sleep(0.02)
        return self


async def measure(server: Server, kind: str, seconds: float, context: int) -> dict:
    quiet = await Polite().run(server.target("polite"), seconds)
    stop = asyncio.Event()
    load = asyncio.create_task(greedy.KINDS[kind](server.target("greedy"), stop, context))
    await asyncio.sleep(min(2.0, seconds))  # until the load is there
    try:
        beside = await Polite().run(server.target("polite"), seconds)
    finally:
        stop.set()
        done, _ = await asyncio.wait([load], timeout=1)
        if not done:
            load.cancel()
            await asyncio.wait([load], timeout=10)
    step = statistics.median(beside.gaps) if beside.gaps else 0.0
    quiet_p99, beside_p99 = percentile(quiet.first, 0.99), percentile(beside.first, 0.99)
    return {"kind": kind, "requests": len(beside.first), "quiet_p50_ms": 1e3 * percentile(quiet.first, 0.5),
            "quiet_p99_ms": 1e3 * quiet_p99, "p50_ms": 1e3 * percentile(beside.first, 0.5), "p99_ms": 1e3 * beside_p99,
            "step_ms": 1e3 * step, "goal_ms": 1e3 * (3 * quiet_p99 + 2 * step),
            "met": beside_p99 < 3 * quiet_p99 + 2 * step}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "bin")
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--context", type=int, default=2048, help="tokens of a sequence (runtime.context)")
    parser.add_argument("--seconds", type=float, default=20, help="of each half of a measurement")
    parser.add_argument("--kinds", default=",".join(greedy.KINDS))
    parser.add_argument("--flags", nargs="*", default=[], help="further flags of inferfluxd")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a kind misses the goal")
    args = parser.parse_args()
    results = []
    for kind in args.kinds.split(","):
        server = Server(args.programs, args.model, ["--context", str(args.context), *args.flags])
        try:
            results.append(asyncio.run(measure(server, kind, args.seconds, args.context)))
        finally:
            server.stop()
        if not args.json:
            row = results[-1]
            print(f"{row['kind']:18} first token p50/p99: quiet {row['quiet_p50_ms']:.1f}/{row['quiet_p99_ms']:.1f} ms, "
                  f"beside it {row['p50_ms']:.1f}/{row['p99_ms']:.1f} ms ({row['requests']} requests); a step "
                  f"{row['step_ms']:.1f} ms; goal {row['goal_ms']:.1f} ms {'met' if row['met'] else 'MISSED'}", flush=True)
    if args.json:
        print(json.dumps(results))
    return 1 if args.check and not all(row["met"] for row in results) else 0


if __name__ == "__main__":
    sys.exit(main())
