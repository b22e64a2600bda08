"""Step costs that make the simulation agree with measured runs of one worker."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from .routing import ShortestQueue
from .simulation import Simulation, StepCosts, Summary, WorkerShape, summary
from .workload import Workload

SEEDS = (1, 2, 3)


def predict(costs: StepCosts, shape: WorkerShape, workload: Workload, clients: int, requests: int, workers: int = 1,
            router: Callable = ShortestQueue, seeds: Sequence[int] = SEEDS) -> Summary:
    """The median of some seeds. With the seed of a measured run its clients ask for the same."""
    prompt = workload.shared + sum(workload.own) / 2
    runs = [summary(Simulation(costs, shape, workers, router(), workload, seed).run(clients, requests), prompt * clients * requests)
            for seed in seeds]
    return Summary(*(statistics.median(values) for values in zip(*(vars(run).values() for run in runs))))


def disagreement(predicted: Summary, measured: Summary) -> float:
    """The sum of the squared logarithms of ratios: 0.1 off in one counts 0.01."""
    pairs = ((predicted.output_rate, measured.output_rate), (predicted.first_token, measured.first_token),
             (predicted.between_tokens, measured.between_tokens))
    return sum(math.log(max(a, 1e-9) / max(b, 1e-9)) ** 2 for a, b in pairs)


def fit(shape: WorkerShape, workload: Workload, requests: int, measured: dict[int, Summary], seeds: dict[int, int]) -> StepCosts:
    """`measured` and `seeds`: by number of clients. A search along one cost after the other, in smaller and smaller factors."""
    gap = measured[min(measured)].between_tokens
    costs = StepCosts(gap * 0.9, gap / 20, gap * 0.1, gap * 0.05)

    def error(trial: StepCosts) -> float:
        return sum(disagreement(predict(trial, shape, workload, clients, requests, seeds=(seeds[clients],)), seen) for clients, seen in measured.items())

    best, factor = error(costs), 2.0
    while factor > 1.005:
        improved = False
        for name in costs.as_dict():
            for change in (factor, 1 / factor):
                trial = StepCosts(**{**costs.as_dict(), name: getattr(costs, name) * change})
                if (wrong := error(trial)) < best:
                    costs, best, improved = trial, wrong, True
        if not improved:
            factor = math.sqrt(factor)
    return costs
