"""The chaos bench runs, in short: figures of so short a run on a busy machine say little, so the bound is loose."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import greedy

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(os.environ.get("INFERFLUX_PROGRAMS", HERE.parents[1] / "build" / "bin"))


@pytest.mark.parametrize("kind", sorted(greedy.KINDS))
def test_the_polite_client_is_served_beside_a_greedy_one(kind):
    run = subprocess.run([sys.executable, HERE / "chaos.py", "--programs", PROGRAMS, "--seconds", "1", "--kinds", kind, "--json"],
                         capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    (result,) = json.loads(run.stdout)
    assert result["kind"] == kind and result["requests"] >= 1
    assert result["p99_ms"] < 20_000, result


def test_each_seed_has_a_schema_of_its_own():
    one, other = greedy.slow_schema(1), greedy.slow_schema(2)
    assert one != other and one == greedy.slow_schema(1)
    assert len(json.dumps(one)) < 4096, "small bodies, much work"
