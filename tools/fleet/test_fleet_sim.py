"""The simulator against what can be worked out by hand, and its fit against costs that are known."""

import random

import pytest

from tools.fleet.fit import fit, predict
from tools.fleet.routing import RULES, Prefix, Sessions, ShortestQueue
from tools.fleet.simulation import Simulation, StepCosts, WorkerShape
from tools.fleet.workload import Request, Workload

FIXED = Workload(prefixes=1, shared=0, own=(10, 10), answer=(5, 5))


def test_one_request_takes_its_steps():
    costs = StepCosts(per_step=1.0, per_prompt_token=0.1, per_sequence=0.01, outside=0.5)
    (served,) = Simulation(costs, WorkerShape(), 1, ShortestQueue(), FIXED, 1).run(1, 1)
    assert served.first == pytest.approx(0.5 + 1.0)  # one step with the whole prompt: it reads the weights longer than it multiplies
    assert served.ended - served.first == pytest.approx(4 * 1.01)


def test_a_prompt_beyond_the_budget_takes_more_steps():
    costs = StepCosts(1.0, 0.0, 0.0)
    (served,) = Simulation(costs, WorkerShape(budget=4), 1, ShortestQueue(), FIXED, 1).run(1, 1)
    assert served.first == pytest.approx(3.0)


def test_a_shared_beginning_costs_once():
    work = Workload(prefixes=1, shared=64, own=(1, 1), answer=(1, 1))
    served = Simulation(StepCosts(0.0, 1.0, 0.0), WorkerShape(), 1, ShortestQueue(), work, 1).run(1, 3)
    assert [round(each.first - each.arrived) for each in served] == [65, 1, 1]


@pytest.mark.parametrize("rule", RULES)
def test_every_request_is_served_once(rule):
    served = Simulation(StepCosts(0.01, 0.001, 0.001), WorkerShape(budget=8, most_running=3), 5, RULES[rule](), Workload(), 3).run(20, 4)
    assert len(served) == 80
    assert all(each.arrived < each.first <= each.ended for each in served)


def test_rules_choose_as_they_say():
    request = Request(prefix=1, shared=1, own=1, answer=1, session=7)
    prefix = Prefix()
    assert [prefix.choose(request, loads) for loads in ([1, 0], [0, 5], [0, 9])] == [1, 1, 0]
    assert len({Sessions().choose(request, [0] * 9) for _ in range(5)}) == 1
    assert ShortestQueue().choose(request, [2, 1, 1]) == 1


def test_a_fit_finds_costs_that_predict_other_runs():
    costs = StepCosts(0.02, 0.0009, 0.0015, 0.002)
    work, shape = Workload(), WorkerShape()
    seeds = {1: 5, 4: 6}
    found = fit(shape, work, 4, {clients: predict(costs, shape, work, clients, 4, seeds=(seed,)) for clients, seed in seeds.items()}, seeds)
    for workers in (1, 2):
        there, here = (predict(each, shape, work, 16, 4, workers) for each in (costs, found))
        assert here.output_rate == pytest.approx(there.output_rate, rel=0.1)
        assert here.first_token == pytest.approx(there.first_token, rel=0.15)


def test_draws_repeat_with_their_seed():
    assert [Workload().draw(random.Random(5), 0) for _ in range(2)][0] == Workload().draw(random.Random(5), 0)
