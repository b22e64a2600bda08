"""Requests of conversations: some prompts begin alike, as those with one system prompt do. Seeded."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    prefix: int  # requests with the same number begin with the same `shared` tokens
    shared: int  # tokens
    own: int  # tokens of the prompt after that
    answer: int  # tokens
    session: int


@dataclass(frozen=True)
class Workload:
    prefixes: int = 8
    shared: int = 96
    own: tuple[int, int] = (16, 64)  # least, most
    answer: tuple[int, int] = (16, 48)

    def request(self, seed: int, client: int, number: int) -> Request:
        """A client's requests do not depend on what the others do, so that a simulation has those of a measured run."""
        return self.draw(random.Random(f"{seed}/{client}/{number}"), client)

    def draw(self, pick: random.Random, session: int) -> Request:
        """Prefixes are as unequal as words: the k-th is drawn in proportion to 1 / k."""
        weights = [1 / (k + 1) for k in range(self.prefixes)]
        prefix = pick.choices(range(self.prefixes), weights)[0]
        return Request(prefix, self.shared, pick.randint(*self.own), pick.randint(*self.answer), session)
