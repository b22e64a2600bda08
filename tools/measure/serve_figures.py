#!/usr/bin/env python3
"""Measurements that `inferctl bench` does not have: running streams during a long prefill, idle open streams, and one stream beside
many idle sessions; a second server without sessions is measured in turn.

    python3 tools/measure/serve_figures.py interference URL [--streams 4] [--prompt 8000] [--seconds 120]
    python3 tools/measure/serve_figures.py idle URL --pid PID [--streams 2000]
    python3 tools/measure/serve_figures.py sessions URL --against URL [--streams 9000] [--tokens 500]
"""
import argparse
import asyncio
import collections
import json
import random
import time
from urllib.parse import urlsplit


async def open_stream(url, **fields):
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    data = json.dumps({"temperature": 0, "logprobs": 0, "stream": True, "ignore_eos": True, **fields}).encode()
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
    await writer.drain()
    return reader, writer


async def stamps(reader, out):
    """The arrival time of each token; a token without text also has a log probability."""
    while line := await reader.readline():
        if line.startswith(b"data: {") and any(c.get("logprobs") for c in json.loads(line[6:]).get("choices", [])):
            out.append(time.perf_counter())


def prompt(length, vocab):
    return [random.randrange(1, vocab) for _ in range(length)]


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1e3


async def interference(args):
    url = urlsplit(args.url)
    times = [[] for _ in range(args.streams)]
    tasks, writers = [], []  # an unreferenced writer closes its connection
    for out in times:
        reader, writer = await open_stream(url, prompt=prompt(32, args.vocab), max_tokens=args.tokens)
        tasks.append(asyncio.create_task(stamps(reader, out)))
        writers.append(writer)
    while not all(len(out) > 20 for out in times):
        await asyncio.sleep(0.2)
    quiet_from = time.perf_counter()
    await asyncio.sleep(args.quiet)
    began = time.perf_counter()
    first = []
    reader, writer = await open_stream(url, prompt=prompt(args.prompt, args.vocab), max_tokens=1)
    try:
        await asyncio.wait_for(stamps(reader, first), args.seconds)
    except asyncio.TimeoutError:
        pass
    ended = time.perf_counter()
    for task in tasks:
        task.cancel()
    gaps = [(b, b - a) for out in times for a, b in zip(out, out[1:])]
    quiet = [gap for at, gap in gaps if quiet_from < at < began]
    busy = [gap for at, gap in gaps if began < at < ended]
    median = percentile(quiet, 0.5)
    print(f"{args.streams} streams: quiet median {median:.1f} ms; while {args.prompt} tokens prefill: median "
          f"{percentile(busy, 0.5):.1f} ms, p99 {percentile(busy, 0.99):.1f} ms ({percentile(busy, 0.99) / median:.2f} x); "
          f"the prefill {'took' if first else 'had not ended after'} {ended - began:.1f} s")


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["Threads"])


async def idle(args):
    url = urlsplit(args.url)
    before = resident(args.pid)
    streams = []
    for _ in range(args.streams):  # they wait for admission, or are paused without a reader
        streams.append(await open_stream(url, prompt=prompt(16, args.vocab), max_tokens=args.tokens))
    heads = [asyncio.create_task(reader.readline()) for reader, _ in streams]
    await asyncio.wait(heads, timeout=args.quiet)
    after = resident(args.pid)
    answers = collections.Counter(head.result().split(b" ", 1)[1].strip().decode() if head.done() and head.result() else
                                  "closed" if head.done() else "no answer yet" for head in heads)
    print(f"{args.streams} open streams ({', '.join(f'{n} {what}' for what, n in answers.items())}): "
          f"{after[0] - before[0]:.1f} MiB more ({before[0]:.1f} to {after[0]:.1f}), "
          f"{after[1] - before[1]} threads more")
    for _, writer in streams:
        writer.close()


async def sessions(args):
    numbers = iter(range(args.streams))

    async def fill():
        for number in numbers:
            reader, writer = await open_stream(urlsplit(args.url), prompt=prompt(4, args.vocab), max_tokens=1, session_id=f"s{number}")
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 200"), answer[:300]
            writer.close()

    await asyncio.gather(*(fill() for _ in range(6)))
    figures = {args.url: [], args.against: []}
    for turn in range(12):
        for url in list(figures)[:: 1 if turn % 2 else -1]:
            # Without log probabilities, so that reading costs little; some tokens then have no event of their own.
            reader, writer = await open_stream(urlsplit(url), prompt=prompt(4, args.vocab), max_tokens=args.tokens, logprobs=None)
            times = [time.perf_counter() async for line in reader if line.startswith(b"data: {")]
            writer.close()
            figures[url].append((times[-1] - times[0]) / (args.tokens - 1))
    beside, alone = (percentile(each, 0.5) for each in figures.values())
    print(f"a token beside {args.streams} sessions {beside:.3f} ms, without sessions {alone:.3f} ms; all: "
          f"{[[round(1e3 * value, 3) for value in each] for each in figures.values()]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["interference", "idle", "sessions"])
    parser.add_argument("url")
    parser.add_argument("--against", help="the server without sessions")
    parser.add_argument("--pid", type=int)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--prompt", type=int, default=8000)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--quiet", type=float, default=5)
    parser.add_argument("--tokens", type=int, default=8000, help="of each stream's answer")
    parser.add_argument("--vocab", type=int, default=256)
    args = parser.parse_args()
    asyncio.run({"interference": interference, "idle": idle, "sessions": sessions}[args.what](args))


main()
