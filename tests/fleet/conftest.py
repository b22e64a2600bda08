"""One pod's container and one Prometheus that scrapes it, for all tests that only look at them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import manifests  # noqa: E402
from pod import Pod  # noqa: E402
from prometheus import Prometheus  # noqa: E402


@pytest.fixture(scope="session")
def pod():
    with Pod(manifests.render("base")) as running:
        running.await_ready()
        yield running


@pytest.fixture(scope="session")
def prometheus(pod):
    with Prometheus(pod.url, manifests.render("monitoring")) as running:
        yield running
