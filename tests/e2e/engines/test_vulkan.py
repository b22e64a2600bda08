"""A server on llama.cpp's Vulkan device: ./test --vulkan, on Mesa's lavapipe if there is no GPU."""

import re

import openai
import pytest
import requests
from server_process import MODEL, ServerProcess, engines

pytestmark = pytest.mark.skipif(not engines()[("vulkan", "llama_cpp")]["available"], reason="this build's libllama has no Vulkan device")


def test_the_model_runs_on_the_device():
    with ServerProcess("--backend", "llama_cpp_vulkan", "--log-level", "debug") as server:
        exposure = requests.get(server.url + "/v1/models", timeout=20).json()["data"][0]["backend_exposure"]
        assert (exposure["requested_backend"], exposure["exposed_backend"], exposure["provider"]) == ("llama_cpp_vulkan", "vulkan", "llama_cpp")
        assert not exposure["fallback"]
        # The library's own log of where layers, weights and KV are.
        offloaded = re.search(r"offloaded (\d+)/(\d+) layers to GPU", server.log())
        assert offloaded and offloaded[1] == offloaded[2] and int(offloaded[1]) > 1, server.log()
        for what in (r"model buffer size", r"KV buffer size", r"compute buffer size"):
            size = re.search(rf"Vulkan0 +{what} = +([\d.]+) MiB", server.log())
            assert size and float(size[1]) > 0, (what, server.log())

        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=120)
        answer = client.chat.completions.create(model="default", temperature=0, messages=[{"role": "user", "content": "What is the capital of France?"}])
        assert "Paris" in answer.choices[0].message.content and answer.choices[0].finish_reason == "stop"


def test_a_device_is_chosen_by_its_number():
    devices = engines()[("vulkan", "llama_cpp")]["devices"]
    last = len(devices) - 1
    with ServerProcess("--backend", "llama_cpp_vulkan", "--device", str(last), "--log-level", "debug") as server:
        assert re.search(rf"Vulkan{last} +model buffer size", server.log()), server.log()
        missing = requests.post(server.url + "/v1/admin/models", timeout=60, json={
            "path": str(MODEL), "id": "other", "backend": "llama_cpp_vulkan", "device": last + 1})
        message = missing.json()["error"]["message"]
        assert missing.status_code == 400 and f"no device {last + 1}" in message and devices[0]["name"] in message
