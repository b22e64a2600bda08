"""The machine's hardware, as `inferctl backends` lists it."""

import json
import os
import re
import shutil
import subprocess

import pytest
import requests
from server_process import MODEL, ServerProcess, clean_environment, engines, program


def backends(*flags: str, prefix: list[str] = ()) -> subprocess.CompletedProcess:
    return subprocess.run([*prefix, program("inferctl"), "backends", *flags], capture_output=True, text=True, timeout=60,
                          env=clean_environment())


def hardware(*flags: str, prefix: list[str] = ()) -> dict:
    shown = backends("--json", *flags, prefix=prefix)
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)["hardware"]


def test_the_processor_is_what_this_process_may_use():
    cpu = hardware()["cpu"]
    assert 1 <= cpu["usable_cores"] <= cpu["cores"] and cpu["usable_cores"] <= len(os.sched_getaffinity(0))
    assert 0 < cpu["free_bytes"] <= cpu["total_bytes"]
    assert cpu["read_bandwidth"] is None, "it is measured on request only"


@pytest.mark.skipif(not shutil.which("taskset"), reason="taskset is not installed")
def test_affinity_counts():
    first = min(os.sched_getaffinity(0))
    assert hardware(prefix=["taskset", "-c", str(first)])["cpu"]["usable_cores"] == 1


def test_each_driver_answers_or_is_none():
    listed = hardware()
    assert [driver["name"] for driver in listed["drivers"]] == ["nvidia", "vulkan", "metal"]
    for driver in listed["drivers"]:
        own = [device for device in listed["devices"] if device["driver"] == driver["name"]]
        assert driver["state"] == ("present" if own else driver["state"]) and driver["state"] in ("present", "none", "failed")
        for device in own:
            assert device["name"] and device["type"]
            assert device["pci_address"] is None or re.fullmatch(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", device["pci_address"])


def test_bandwidth_is_measured_on_request():
    assert hardware("--bandwidth")["cpu"]["read_bandwidth"] > 1 << 20
    refused = backends("--markdown", "--bandwidth")
    assert refused.returncode == 2 and "--bandwidth" in refused.stderr


@pytest.mark.parametrize("backend, provider", [("native_cpu", "native"), ("llama_cpp_cpu", "llama_cpp")])
def test_a_device_is_chosen_by_its_id_and_its_name(backend, provider):
    row = engines()["cpu", provider]
    if not row["available"]:
        pytest.skip(row["reason"])
    device = row["devices"][0]
    assert device["id"].lower() == "cpu"
    with ServerProcess("--backend", backend, "--device", device["id"]) as server:
        def load(word) -> requests.Response:
            return requests.post(server.url + "/v1/admin/models", timeout=60, json={"path": str(MODEL), "id": "a", "device": word})

        exposure = requests.get(server.url + "/v1/models", timeout=20).json()["data"][0]["backend_exposure"]
        assert (exposure["provider"], exposure["fallback"]) == (provider, False)
        for word in (device["name"], "0", 0, ""):
            assert load(word).status_code == 200, word
            assert requests.delete(server.url + "/v1/admin/models/a", timeout=60).status_code == 200
        refused = load("GPU-5e2f")
        message = refused.json()["error"]["message"]
        assert refused.status_code == 400 and "no device GPU-5e2f: this backend has 0 (" in message and device["name"] in message


def test_the_text_has_a_line_for_each_device_and_driver():
    lines = backends().stdout.split("\nhardware\n")[1].splitlines()
    assert lines[0].startswith("cpu") and "cores" in lines[0] and "GiB free" in lines[0]
    named = {line.split()[0] for line in lines if not line.startswith(" ")}
    assert named == {"cpu", "nvidia", "vulkan", "metal"}
