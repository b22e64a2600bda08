"""Compares one process with two compute threads to models that two processes share, each with one thread, in alternating runs.

usage: python -m tools.measure.ranks MODEL.gguf [--runs N] [--mpi]      (from the repository's root; needs build/bin)

Prints tokens a second of a prompt and of decoding, the median of the runs, and the ratio to one process. --mpi adds a job of
mpirun on this host.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/e2e"))
from server_process import ServerProcess  # noqa: E402

KINDS = {
    "one process, 2 threads": ("--threads", "2"),
    "tensor, 2 x 1 thread": ("--threads", "1", "--tensor-parallel", "2"),
    "pipeline, 2 x 1 thread": ("--threads", "1", "--pipeline-parallel", "2"),
}
PROMPT_TOKENS, DECODED = 512, 64


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--mpi", action="store_true")
    arguments = parser.parse_args()
    servers = {kind: ServerProcess(*flags, model=arguments.model) for kind, flags in KINDS.items()}
    if arguments.mpi:
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/e2e/ranks"))
        from test_mpi import Job
        servers["tensor, 2 x 1 thread, MPI"] = Job(2, "--tensor-parallel", "2", model=arguments.model)
    figures = {kind: [] for kind in servers}
    try:
        for run in range(arguments.runs + 1):
            for kind, server in servers.items():
                found = measure(server, run)
                if run > 0:  # the first one warms up
                    figures[kind].append(found)
    finally:
        for server in servers.values():
            server.stop()
    base = [statistics.median(column) for column in zip(*figures["one process, 2 threads"])]
    print(f"| | prompt of {PROMPT_TOKENS}, tokens/s | decoding, tokens/s |\n|---|---|---|")
    for kind, rows in figures.items():
        cells = [f"{statistics.median(column):.1f} ({statistics.median(column) / of:.2f})" for column, of in zip(zip(*rows), base)]
        print(f"| {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
