"""The rules by which a router chooses a worker."""

from __future__ import annotations

import hashlib
from typing import Protocol

from .workload import Request

BUSIER = 8  # requests that a worker with the prefix may have more than the least busy one


class Router(Protocol):
    def choose(self, request: Request, loads: list[int]) -> int: ...


class RoundRobin:
    def __init__(self) -> None:
        self._next = 0

    def choose(self, request: Request, loads: list[int]) -> int:  # noqa: ARG002
        self._next += 1
        return (self._next - 1) % len(loads)


class ShortestQueue:
    def choose(self, request: Request, loads: list[int]) -> int:  # noqa: ARG002
        return loads.index(min(loads))


class Sessions:
    """A client's requests stay on one worker."""

    def choose(self, request: Request, loads: list[int]) -> int:
        digest = hashlib.blake2b(str(request.session).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % len(loads)


class Prefix:
    """The least busy worker that has seen the prefix, unless it has BUSIER more requests than the least busy of all."""

    def __init__(self) -> None:
        self._seen: dict[int, set[int]] = {}

    def choose(self, request: Request, loads: list[int]) -> int:
        least = min(loads)
        seen = [worker for worker in self._seen.get(request.prefix, ()) if loads[worker] <= least + BUSIER]
        chosen = min(seen, key=lambda worker: loads[worker]) if seen else loads.index(least)
        self._seen.setdefault(request.prefix, set()).add(chosen)
        return chosen


RULES = {"round robin": RoundRobin, "shortest queue": ShortestQueue, "sessions": Sessions, "prefix": Prefix}
