"""A server on the native CUDA backend: ./test --cuda, on the host executor if there is no GPU."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
import requests
from server_process import MODEL, ServerProcess, clean_environment, engines, program

pytestmark = pytest.mark.skipif(not engines()[("cuda", "native")]["available"], reason="this build has no native CUDA backend")


def test_the_model_answers():
    with ServerProcess("--backend", "native_cuda") as server:
        exposure = requests.get(server.url + "/v1/models", timeout=20).json()["data"][0]["backend_exposure"]
        assert (exposure["requested_backend"], exposure["exposed_backend"], exposure["provider"]) == ("native_cuda", "cuda", "native")
        assert not exposure["fallback"]
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=600)
        began = time.monotonic()
        answer = client.chat.completions.create(
            model="default", temperature=0, max_tokens=32, messages=[{"role": "user", "content": "What is the capital of France?"}])
        seconds = time.monotonic() - began
        assert "Paris" in answer.choices[0].message.content
        print(f"{answer.usage.completion_tokens} tokens in {seconds:.1f} s")
        graphs = requests.get(server.url + "/v1/admin/pools", timeout=20).json()["data"][0]["graphs"]
        assert graphs["captured"] > 0 and graphs["replays"] >= answer.usage.completion_tokens - 2 and graphs["refusals"] == 0
        labels = {"model": MODEL.stem, "backend": "cuda"}
        assert server.metric("inferflux_graphs", **labels) >= graphs["captured"], "more are captured while nothing runs"
        assert server.metric("inferflux_graph_replays_total", **labels) == graphs["replays"]
        assert server.metric("inferflux_graph_refusals_total", **labels) == 0


def test_captured_steps_can_be_switched_off():
    texts = []
    for graphs in ("true", "false"):
        with ServerProcess("--backend", "native_cuda", "--cuda-graphs", graphs) as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=600)
            texts.append(client.completions.create(model="default", prompt="The sky", max_tokens=6, seed=4).choices[0].text)
            replays = requests.get(server.url + "/v1/admin/pools", timeout=20).json()["data"][0]["graphs"]["replays"]
            assert (replays > 0) == (graphs == "true")
    assert texts[0] == texts[1]


def needs_the_host_executor():
    if engines()[("cuda", "native")]["devices"][0]["name"] != "cuda (host executor, for tests)":
        pytest.skip("there is a GPU here")


def test_prompts_on_a_second_stream_answer_beside_decodes():
    with ServerProcess("--backend", "native_cuda", "--cuda-streams", "2") as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=600)
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda prompt: client.completions.create(model="default", prompt=prompt, max_tokens=8, temperature=0),
                                    ["The capital of France is", "One, two, three,", "The sky"]))
        assert all(answer.choices[0].text for answer in answers)
        assert "Paris" in answers[0].choices[0].text


def test_ranks_say_what_they_exchange_through():
    needs_the_host_executor()
    why = "rank 0: the host executor is no device that NCCL knows"
    flags = ("--backend", "native_cuda", "--tensor-parallel", "2")
    with ServerProcess(*flags) as server:
        assert f"over 2 ranks through shared memory, not NCCL ({why})" in requests.get(server.url + "/v1/models", timeout=20).text
    forced = subprocess.run([program("inferfluxd"), "--port", "0", "--model", str(MODEL), *flags, "--collectives", "nccl"],
                            capture_output=True, text=True, timeout=120, env=clean_environment())
    assert forced.returncode != 0
    assert f"collectives: nccl cannot be had ({why}): choose auto or host" in forced.stderr


def test_the_host_executor_is_never_chosen_for_a_user():
    needs_the_host_executor()
    with ServerProcess("--backend", "auto") as server:
        exposure = requests.get(server.url + "/v1/models", timeout=20).json()["data"][0]["backend_exposure"]
        assert exposure["exposed_backend"] == "cpu"


def test_a_device_that_is_not_there_is_named():
    with ServerProcess() as server:
        missing = requests.post(server.url + "/v1/admin/models", timeout=60, json={
            "path": str(MODEL), "id": "other", "backend": "native_cuda", "device": 7})
        assert missing.status_code == 400 and "no device 7" in missing.json()["error"]["message"]
