"""Real clients against a real server with the embedded model. Each folder has an environment of its own: one of all does not
resolve. `./test --clients` makes them from the locked files."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from server_process import ServerProcess  # noqa: E402


@pytest.fixture(scope="session")
def server():
    with ServerProcess() as running:
        yield running


@pytest.fixture(scope="session")
def url(server):
    return server.url + "/v1"
