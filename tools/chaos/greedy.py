"""Greedy clients, one kind each. A kind is a coroutine that loads a server until `stop` is set; every loop is bounded."""

import asyncio
import json
import random

MOST_ROUNDS = 100_000  # of any loop, should the stop never come
SENDERS = 6            # connections of one greedy client, where the kind does not say


class Target:
    """Where the server is, with the key of a client."""

    def __init__(self, host: str, port: int, key: str):
        self.host, self.port, self.key = host, port, key

    def head(self, path: str, length: int) -> bytes:
        return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.key}\r\nConnection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n").encode()

    async def open(self):
        return await asyncio.wait_for(asyncio.open_connection(self.host, self.port), 20)

    async def post(self, path: str, body: dict, seconds: float = 60) -> int:
        """Sends a request and reads its whole answer; returns the status, or 0 if the connection ended."""
        data = json.dumps(body).encode()
        reader, writer = await self.open()
        try:
            writer.write(self.head(path, len(data)) + data)
            status = await asyncio.wait_for(reader.readline(), seconds)
            while await asyncio.wait_for(reader.read(1 << 16), seconds):
                pass
            return int(status.split()[1]) if status else 0
        finally:
            writer.close()

    async def abandon(self, path: str, body: dict, seconds: float) -> None:
        """Sends a request and hangs up after that time."""
        data = json.dumps(body).encode()
        _, writer = await self.open()
        writer.write(self.head(path, len(data)) + data)
        await asyncio.sleep(seconds)
        writer.close()


async def _senders(stop: asyncio.Event, count: int, send) -> None:
    async def loop():
        for _ in range(MOST_ROUNDS):
            if stop.is_set():
                return
            try:
                status = await send()
                if status == 429:
                    await asyncio.sleep(0.05)  # it obeys no advice, but does not spin either
            except (OSError, asyncio.TimeoutError, IndexError, ValueError):
                await asyncio.sleep(0.05)

    await asyncio.gather(*(loop() for _ in range(count)))


def slow_schema(seed: int) -> dict:
    """A schema whose patterns have automata of thousands of states; each seed's is new, so no cache knows it."""
    source = random.Random(seed)
    tag = "".join(source.choices("cdefghijkl", k=12))
    patterns = {f"p{i}_{tag}": {"type": "string", "pattern": f"^(a|b)*a(a|b){{{9 + i % 3}}}{tag}$"} for i in range(12)}
    return {"type": "object", "properties": patterns, "required": list(patterns), "additionalProperties": False}


def _schema_request(seed: int) -> dict:
    return {"prompt": "x", "max_tokens": 4, "structured_outputs": {"json": slow_schema(seed)}}


def _words(seed: int, count: int) -> str:
    source = random.Random(seed)
    return " ".join(source.choices(["once", "upon", "a", "time", "there", "was", "one", "more", "story"], k=count))


async def big_n(target: Target, stop: asyncio.Event, context: int) -> None:
    seeds = iter(range(MOST_ROUNDS))
    await _senders(stop, SENDERS, lambda: target.post("/v1/completions", {
        "prompt": _words(next(seeds), 4), "n": 64, "max_tokens": context // 2, "ignore_eos": True}))


async def long_prompts(target: Target, stop: asyncio.Event, context: int) -> None:
    seeds = iter(range(MOST_ROUNDS))
    await _senders(stop, SENDERS, lambda: target.post("/v1/completions", {
        "prompt": _words(next(seeds), context // 4), "max_tokens": 4}))


async def huge_schemas(target: Target, stop: asyncio.Event, context: int) -> None:
    seeds = iter(range(MOST_ROUNDS))
    await _senders(stop, SENDERS, lambda: target.post("/v1/completions", _schema_request(next(seeds))))


async def hang_ups(target: Target, stop: asyncio.Event, context: int) -> None:
    seeds = iter(range(MOST_ROUNDS))
    await _senders(stop, SENDERS, lambda: target.abandon("/v1/completions", _schema_request(1_000_000 + next(seeds)), 0.2))


async def prompt_logprobs(target: Target, stop: asyncio.Event, context: int) -> None:
    seeds = iter(range(MOST_ROUNDS))
    await _senders(stop, SENDERS, lambda: target.post("/v1/completions", {
        "prompt": _words(next(seeds), context // 4), "max_tokens": 1, "n": 8, "prompt_logprobs": 20}))


async def slow_bodies(target: Target, stop: asyncio.Event, context: int) -> None:
    """Announces large bodies and sends a few bytes a second."""

    async def one():
        _, writer = await target.open()
        try:
            writer.write(target.head("/v1/completions", 30_000_000) + b'{"prompt":"')
            for _ in range(60):
                if stop.is_set() or writer.is_closing():  # closed: the server has refused it
                    break
                writer.write(b"x" * 16)
                await asyncio.sleep(0.5)
        finally:
            writer.close()

    await _senders(stop, 64, one)


async def many_connections(target: Target, stop: asyncio.Event, context: int) -> None:
    """Opens connections that say nothing, as many as this process may, and keeps them."""
    writers = []
    try:
        for _ in range(700):
            if stop.is_set():
                break
            try:
                writers.append((await target.open())[1])
            except (OSError, asyncio.TimeoutError):
                await asyncio.sleep(0.05)
        await stop.wait()
    finally:
        for writer in writers:
            writer.close()


KINDS = {kind.__name__: kind for kind in
         (big_n, long_prompts, huge_schemas, hang_ups, prompt_logprobs, slow_bodies, many_connections)}
