"""A model on two hosts: network namespaces of this machine, joined by a switch that can cut them off."""

import sys
import threading
import time

import mpi_job
import pytest
import requests
from server_process import ROOT, ServerProcess, eventually
from test_ranks import PROMPTS, complete, expect_same_text

sys.path.insert(0, str(ROOT / "tools" / "hosts"))
from hosts import Hosts  # noqa: E402

NOTICED = sum(mpi_job.KEEPALIVE.values()) + 6  # seconds until mpirun has heard of the cut and ended the job


@pytest.fixture
def hosts():
    if why := Hosts.missing() or mpi_job.missing():
        pytest.skip(why)
    with Hosts(2) as running, running.on(1):
        yield running


@pytest.mark.parametrize("kind", ["tensor", "pipeline"])
def test_two_hosts_give_the_text_of_one_process(hosts, kind):
    with ServerProcess() as server:
        right = {prompt: complete(server, prompt) for prompt in PROMPTS}
    hosts.delay(0.0002)
    hosts.lose(0.002)
    with mpi_job.Job(2, f"--{kind}-parallel", "2", hosts=hosts) as job:
        expect_same_text(job, right)


def test_a_job_whose_host_is_cut_off_ends_and_each_request_has_one_answer(hosts):
    with mpi_job.Job(2, "--tensor-parallel", "2", hosts=hosts) as job:
        outcomes = []

        def ask():
            try:
                outcomes.append(requests.post(job.url + "/v1/completions", timeout=60, json={
                    "prompt": "Once", "max_tokens": 1900, "ignore_eos": True}).status_code)
            except requests.RequestException as error:
                outcomes.append(type(error).__name__)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert eventually(lambda: job.metric("inferflux_running_sequences") == 3)
        hosts.cut(2)
        cut = time.monotonic()
        for thread in threads:
            thread.join()
        assert job.process.wait(NOTICED) != 0
        assert time.monotonic() - cut < NOTICED
        # mpirun may end rank 0 before it has answered; its clients' connections close then.
        assert len(outcomes) == 3 and set(outcomes) <= {503, "ConnectionError", "ChunkedEncodingError"}, outcomes
        assert "lost" in job.log(), job.log()
    hosts.mend(2)
    with mpi_job.Job(2, "--tensor-parallel", "2", hosts=hosts) as job:  # what supervises it starts it again
        assert complete(job, "Once upon a time")["text"]


def test_a_pool_starts_a_job_again_when_its_host_is_back(hosts, tmp_path):
    launcher = " ".join(["mpirun", *mpi_job.over(hosts, tmp_path)])
    with ServerProcess("--pool", "--pipeline-parallel", "2", "--runtime-threads", "1", "--workers-rank-launcher", launcher,
                       environment=mpi_job.ALLOWED) as server:
        right = complete(server, "Once upon a time")["text"]
        hosts.cut(2)
        codes = set()

        def refused():
            codes.add(requests.post(server.url + "/v1/completions", timeout=60, json={"prompt": "Two, three", "max_tokens": 4}).status_code)
            return 503 in codes

        assert eventually(refused, NOTICED + 10) and codes == {503}, codes
        hosts.mend(2)

        def answers():
            return requests.post(server.url + "/v1/completions", timeout=60, json={"prompt": "Once", "max_tokens": 4}).status_code == 200

        assert eventually(answers, 90)
        assert complete(server, "Once upon a time")["text"] == right
