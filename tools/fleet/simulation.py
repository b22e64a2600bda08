"""Clients in closed loops, a router, and workers that run steps: what each request waits for, without running anything.

A worker's step costs `StepCosts.seconds`. It decodes every running sequence and, within its budget of tokens, computes prompts in
the order of arrival. The shared beginning of a prompt costs nothing where the worker still has it.
"""

from __future__ import annotations

import heapq
import statistics
from collections import OrderedDict, deque
from dataclasses import asdict, dataclass, field

from .routing import Router
from .workload import Request, Workload

BLOCK = 16  # tokens of a KV block: prefixes are found again in whole blocks


@dataclass(frozen=True)
class StepCosts:
    """In seconds. A step reads all weights once (`per_step`) and multiplies each token, at the same time: it takes the longer of the
    two. `outside` of a request is what is not in a step: HTTP, the template, tokenising."""

    per_step: float
    per_prompt_token: float
    per_sequence: float
    outside: float = 0.0

    def seconds(self, prompt_tokens: int, sequences: int, sampled_cost: float = 1.0) -> float:
        multiplying = self.per_prompt_token * (prompt_tokens + sampled_cost * sequences)
        return max(self.per_step, multiplying) + self.per_sequence * sequences

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True)
class WorkerShape:
    """As the worker is configured. The budget is `inferfluxd --print-config`'s, or the backend's best step."""

    budget: int = 112  # tokens of a step
    most_running: int = 64
    cache_tokens: int = 100_000
    sampled_cost: float = 1.0  # multiply-adds of a token that is sampled, over those of a prompt token: it has the output layer too


@dataclass
class Served:
    arrived: float
    first: float
    ended: float
    tokens: int
    cached: int


@dataclass
class _Running:
    client: int
    request: Request
    arrived: float
    left: int  # prompt tokens to compute
    cached: int
    tokens: int = 0
    first: float = 0.0


@dataclass
class _Worker:
    waiting: deque[_Running] = field(default_factory=deque)
    running: list[_Running] = field(default_factory=list)
    cache: OrderedDict[int, int] = field(default_factory=OrderedDict)  # prefix: tokens
    stepping: bool = False

    def load(self) -> int:
        return len(self.waiting) + len(self.running)

    def keep(self, request: Request, most: int) -> None:
        self.cache[request.prefix] = request.shared // BLOCK * BLOCK
        self.cache.move_to_end(request.prefix)
        while sum(self.cache.values()) > most and len(self.cache) > 1:
            self.cache.popitem(last=False)


class Simulation:
    def __init__(self, costs: StepCosts, shape: WorkerShape, workers: int, router: Router, workload: Workload, seed: int) -> None:
        self._costs, self._shape, self._router, self._workload = costs, shape, router, workload
        self._workers = [_Worker() for _ in range(workers)]
        self._seed = seed
        self._events: list[tuple[float, int, int, object]] = []  # time, tie, client or -1, worker's number or None
        self._ties = 0
        self.served: list[Served] = []

    def run(self, clients: int, requests: int) -> list[Served]:
        """Each client asks `requests` times, one after the other."""
        asked = [0] * clients
        for client in range(clients):
            self._at(0.0, client, None)
        while self._events:
            now, _, client, worker = heapq.heappop(self._events)
            if worker is None:
                if asked[client] < requests:
                    self._arrive(now, client, asked[client])
                    asked[client] += 1
            else:
                self._end_step(now, worker)
        return self.served

    def _at(self, time: float, client: int, worker: object) -> None:
        self._ties += 1
        heapq.heappush(self._events, (time, self._ties, client, worker))

    def _arrive(self, now: float, client: int, asked: int) -> None:
        request = self._workload.request(self._seed, client, asked)
        number = self._router.choose(request, [worker.load() for worker in self._workers])
        worker = self._workers[number]
        worker.waiting.append(_Running(client, request, now, request.shared + request.own, 0))
        if not worker.stepping:
            self._begin_step(now + self._costs.outside, worker)

    def _begin_step(self, now: float, worker: _Worker) -> None:
        while worker.waiting and len(worker.running) < self._shape.most_running:
            entering = worker.waiting.popleft()
            entering.cached = worker.cache.get(entering.request.prefix, 0)
            entering.left -= entering.cached
            worker.running.append(entering)
        if not worker.running:
            worker.stepping = False
            return
        worker.stepping = True
        decoding = [each for each in worker.running if each.left == 0]
        budget = max(self._shape.budget - len(decoding), len(decoding), 1)
        prompt_tokens = 0
        for each in worker.running:
            chunk = min(each.left, budget - prompt_tokens)
            each.left -= chunk
            prompt_tokens += chunk
        finished = [each for each in worker.running if each.left == 0]  # each of them gets a token
        self._at(now + self._costs.seconds(prompt_tokens, len(decoding), self._shape.sampled_cost), -1, (worker, finished))

    def _end_step(self, now: float, step: tuple[_Worker, list[_Running]]) -> None:
        worker, sampled = step
        for each in sampled:
            each.tokens += 1
            if each.tokens == 1:
                each.first = now
                worker.keep(each.request, self._shape.cache_tokens)
            if each.tokens == each.request.answer:
                worker.running.remove(each)
                self.served.append(Served(each.arrived, each.first, now, each.tokens, each.cached))
                self._at(now + self._costs.outside, each.client, None)
        self._begin_step(now, worker)


@dataclass(frozen=True)
class Summary:
    """Seconds, and tokens a second."""

    output_rate: float
    first_token: float  # median
    first_token_p99: float
    between_tokens: float  # median of each request's mean
    cached_share: float  # of prompt tokens


def summary(served: list[Served], prompt_tokens: float) -> Summary:
    firsts = sorted(each.first - each.arrived for each in served)
    gaps = [(each.ended - each.first) / (each.tokens - 1) for each in served if each.tokens > 1]
    span = max(each.ended for each in served) - min(each.arrived for each in served)
    return Summary(sum(each.tokens for each in served) / span, statistics.median(firsts), firsts[min(len(firsts) - 1, int(len(firsts) * 0.99))],
                   statistics.median(gaps) if gaps else 0.0, sum(each.cached for each in served) / max(1.0, prompt_tokens))
