"""The same clients against real servers: closed loops of streaming completions over token ids."""

from __future__ import annotations

import asyncio
import json
import random
import time
from urllib.parse import urlsplit

from .routing import Router
from .simulation import Served
from .workload import Request, Workload

ENDLESS = 1_000_000


def prompt_of(request: Request, vocabulary: int, seed: int, client: int, number: int) -> list[int]:
    same = random.Random(seed * 1_000_003 + request.prefix)
    pick = random.Random(f"{seed}/{client}/{number}/prompt")
    return [same.randrange(3, vocabulary) for _ in range(request.shared)] + [pick.randrange(3, vocabulary) for _ in range(request.own)]


async def ask(url: str, request: Request, prompt: list[int]) -> Served:
    """Raises on anything but a whole stream of the asked length."""
    parts = urlsplit(url)
    body = json.dumps({"prompt": prompt, "max_tokens": request.answer, "temperature": 0, "stream": True, "ignore_eos": True, "logprobs": 0,
                       "stream_options": {"include_usage": True}}).encode()
    arrived = time.perf_counter()
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n" % (parts.netloc.encode(), len(body)) + body)
    stamps, cached = [], 0
    try:
        status = (await reader.readline()).decode().strip()
        if " 200 " not in status:
            raise RuntimeError(f"{url} answered: {status}")
        while line := await reader.readline():
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if "error" in event:
                raise RuntimeError(event["error"])
            stamps += [time.perf_counter()] * sum(len(c["logprobs"]["tokens"]) for c in event.get("choices", []) if c.get("logprobs"))
            cached = ((event.get("usage") or {}).get("prompt_tokens_details") or {}).get("cached_tokens", cached)
    finally:
        writer.close()
    if len(stamps) != request.answer:
        raise RuntimeError(f"{url} sent {len(stamps)} tokens of {request.answer}")
    return Served(arrived, stamps[0], stamps[-1], len(stamps), cached)


async def _run(urls: list[str], router: Router, workload: Workload, clients: int, requests: int, seed: int, vocabulary: int) -> list[Served]:
    loads, out = [0] * len(urls), []

    async def client(name: int) -> None:
        for number in range(requests):
            request = workload.request(seed, name, number)
            prompt = prompt_of(request, vocabulary, seed, name, number)
            chosen = router.choose(request, loads)
            loads[chosen] += 1
            try:
                out.append(await ask(urls[chosen], request, prompt))
            finally:
                loads[chosen] -= 1

    await asyncio.gather(*(client(name) for name in range(clients)))
    return out


async def _beside(neighbours: list[str], router: Router, workload: Workload, clients: int, seed: int, vocabulary: int) -> None:
    await asyncio.gather(*(_run([url], router, workload, clients, ENDLESS, seed + 1_000 * number, vocabulary)
                           for number, url in enumerate(neighbours, 1)))


def measure(urls: list[str], router: Router, workload: Workload, clients: int, requests: int, seed: int, vocabulary: int,
            neighbours: list[str]) -> list[Served]:
    """A new seed means new prompts: none is in a server's prefix cache from an earlier run. Meanwhile as many clients keep each
    of `neighbours` busy: workers of one machine share its memory and its caches, so one alone is faster than one of several."""

    async def both() -> list[Served]:
        beside = asyncio.create_task(_beside(neighbours, router, workload, clients, seed, vocabulary))
        try:
            return await _run(urls, router, workload, clients, requests, seed, vocabulary)
        finally:
            if beside.done():
                beside.result()  # only an error or no neighbour ends it
            beside.cancel()
            await asyncio.wait([beside])

    return asyncio.run(both())
