"""One server for all tests that do not need their own."""

import openai
import pytest
from server_process import ServerProcess


@pytest.fixture(scope="session")
def server():
    with ServerProcess() as running:
        yield running


@pytest.fixture(scope="session")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=60)


@pytest.fixture(scope="session")
def model_id(client) -> str:
    return client.models.list().data[0].id
