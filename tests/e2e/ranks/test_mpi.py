"""Ranks that mpirun starts, of a build with -DENABLE_MPI=ON."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import mpi_job
import pytest
import requests
from mpi_job import ALLOWED, Job
from server_process import MODEL, ServerProcess, clean_environment, eventually, program
from test_ranks import PROMPTS, alive, complete, expect_same_text, workers


@pytest.fixture(scope="module", autouse=True)
def mpi():
    if why := mpi_job.missing():
        pytest.skip(why)


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture(scope="module")
def right():
    with ServerProcess() as server:
        return {prompt: complete(server, prompt) for prompt in PROMPTS}


@pytest.mark.parametrize("flags", [("--tensor-parallel", "2"), ("--pipeline-parallel", "2")], ids=["tensor", "pipeline"])
def test_a_job_gives_the_text_of_one_process(right, flags):
    with Job(2, *flags) as job:
        expect_same_text(job, right)
        assert "over 2 ranks through MPI" in requests.get(job.url + "/v1/models", timeout=10).text
        os.kill(job.rank(0), signal.SIGTERM)  # a clean end: rank 0 ends the other
        assert job.process.wait(20) == 0


def test_the_job_must_have_as_many_ranks_as_the_model():
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", program("inferfluxd"), "--port", "0", "--model", str(MODEL),
                           "--pipeline-parallel", "4"], capture_output=True, text=True, timeout=60,
                          env={**clean_environment(), **ALLOWED})
    assert done.returncode != 0
    assert "this job was started with 2 ranks, and the model is configured for 4" in done.stderr + done.stdout


def test_a_job_ends_within_a_second_of_a_rank():
    with Job(2, "--tensor-parallel", "2") as job:
        replies = []

        def ask():
            try:
                replies.append(requests.post(job.url + "/v1/completions", timeout=30, json={
                    "prompt": "Once", "max_tokens": 1900, "ignore_eos": True}).status_code)
            except requests.RequestException as error:
                replies.append(type(error).__name__)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert eventually(lambda: job.metric("inferflux_running_sequences") == 3)
        os.kill(job.rank(1), signal.SIGKILL)
        killed = time.monotonic()
        assert job.process.wait(10) != 0
        took = time.monotonic() - killed
        for thread in threads:
            thread.join()
        # mpirun may end rank 0 before it has answered; its clients' connections close then.
        assert len(replies) == 3 and set(replies) <= {503, "ConnectionError", "ChunkedEncodingError"}, replies
        assert took < 2.5


def test_a_job_is_one_worker_of_a_pool_which_starts_it_again(right):
    with ServerProcess("--pool", "--tensor-parallel", "2", "--runtime-threads", "1", "--workers-rank-launcher",
                       "mpirun --oversubscribe --bind-to none", environment=ALLOWED) as server:
        expect_same_text(server, right)
        assert "over 2 ranks through MPI" in requests.get(server.url + "/v1/models", timeout=10).text
        (worker,) = workers(server)
        codes = []
        asking = threading.Thread(target=lambda: codes.append(requests.post(
            server.url + "/v1/completions", timeout=60, json={"prompt": "Once", "max_tokens": 1900, "ignore_eos": True}).status_code))
        asking.start()
        assert eventually(lambda: server.metric("inferflux_running_sequences") == 1)
        ranks = [pid for pid in children(worker["pid"]) if b"inferflux-worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert len(ranks) == 2
        os.kill(max(ranks), signal.SIGKILL)
        assert eventually(lambda: not alive(worker["pid"]), 3)
        asking.join(30)
        assert codes == [503], codes
        assert eventually(lambda: requests.post(server.url + "/v1/completions", timeout=30,
                                                json={"prompt": "Once", "max_tokens": 4}).status_code == 200, 60)
        expect_same_text(server, right)
        jobs = [w["pid"] for w in workers(server)]
    assert eventually(lambda: not any(alive(pid) for pid in [*jobs, *ranks]))


def test_a_launcher_needs_programs_with_mpi():
    done = subprocess.run([program("inferfluxd"), "--port", "0", "--model", str(MODEL), "--pool", "--tensor-parallel", "2",
                           "--workers-rank-launcher", "no-such-launcher"], capture_output=True, text=True, timeout=60, env=clean_environment())
    assert done.returncode != 0 and "cannot run no-such-launcher" in done.stderr
