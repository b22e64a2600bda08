"""Compares one process with models that two processes share, in alternating runs.

usage: python3 tools/measure/ranks.py MODEL.gguf [--runs N] [--mpi] [--delays S,S,...]      (needs build/bin)

Without --delays on this host: two compute threads of one process beside two processes of one thread each; --mpi adds a job of
mpirun. With --delays on two hosts of one thread each, beside one of them alone: network namespaces, joined by a switch in user
space (tools/hosts), which delays each frame by S seconds (as root, with an MPI build). The switch takes a share of both cores.
Prints tokens a second of a prompt and of decoding, the median of the runs, and the ratio to the first line.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import requests

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/e2e/ranks"), str(ROOT / "tools/hosts")]
from hosts import Hosts  # noqa: E402
from mpi_job import Job  # noqa: E402
from server_process import ServerProcess  # noqa: E402

TENSOR, PIPELINE = ("--tensor-parallel", "2"), ("--pipeline-parallel", "2")
PROMPT_TOKENS, DECODED = 512, 64


def on_this_host(model, mpi):
    yield "one process, 2 threads", ServerProcess("--threads", "2", model=model)
    yield "tensor, 2 x 1 thread", ServerProcess("--threads", "1", *TENSOR, model=model)
    yield "pipeline, 2 x 1 thread", ServerProcess("--threads", "1", *PIPELINE, model=model)
    if mpi:
        yield "tensor, 2 x 1 thread, MPI", Job(2, *TENSOR, model=model)


def on_two_hosts(model, hosts):
    yield "one host", ServerProcess("--threads", "1", model=model)
    yield "tensor, two hosts", Job(2, *TENSOR, model=model, hosts=hosts)
    yield "pipeline, two hosts", Job(2, *PIPELINE, model=model, hosts=hosts)


def ask(server, prompt, tokens):
    began = time.monotonic()
    reply = requests.post(server.url + "/v1/completions", timeout=600,
                          json={"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True})
    reply.raise_for_status()
    return time.monotonic() - began, reply.json()["usage"]


def measure(server, run):
    """Tokens a second of a prompt that no cache has, and of decoding after a short one."""
    seconds, usage = ask(server, [(run * 7919 + i * 31) % 1000 + 3 for i in range(PROMPT_TOKENS)], 1)
    prefill = usage["prompt_tokens"] / seconds
    first, _ = ask(server, [5, 6, 7], 1)
    seconds, usage = ask(server, [5, 6, 7], 1 + DECODED)
    return prefill, DECODED / (seconds - first)


def compare(kinds, runs):
    """Prints a row for each server; the ratios are those to the first."""
    servers, figures = {}, {}
    try:
        for kind, server in kinds:
            servers[kind], figures[kind] = server, []
        for run in range(runs + 1):
            for kind, server in servers.items():
                found = measure(server, run)
                if run > 0:  # the first one warms up
                    figures[kind].append(found)
    finally:
        for server in servers.values():
            server.stop()
    base = [statistics.median(column) for column in zip(*next(iter(figures.values())))]
    print(f"| | prompt of {PROMPT_TOKENS}, tokens/s | decoding, tokens/s |\n|---|---|---|")
    for kind, rows in figures.items():
        cells = [f"{statistics.median(column):.1f} ({statistics.median(column) / of:.2f}; {min(column):.1f} to {max(column):.1f})"
                 for column, of in zip(zip(*rows), base)]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--delays", type=lambda text: [float(word) for word in text.split(",")], default=[])
    arguments = parser.parse_args()
    if not arguments.delays:
        compare(on_this_host(arguments.model, arguments.mpi), arguments.runs)
        return
    if why := Hosts.missing():
        sys.exit(f"ranks.py: {why}")
    with Hosts(2) as hosts, hosts.on(1):
        for delay in arguments.delays:
            hosts.delay(delay)
            print(f"\nround trip {1000 * hosts.round_trip():.2f} ms:\n")
            compare(on_two_hosts(arguments.model, hosts), arguments.runs)


if __name__ == "__main__":
    main()
