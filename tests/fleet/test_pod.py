"""The server's container, run with its command, settings, keys and user: probes, the drain, and what it may not do."""

import os
import signal
import subprocess
import time
from pathlib import Path

import manifests
import openai
import pytest
import requests
from pod import KEY, Pod
from server_process import MODEL, clean_environment, program


def client_of(pod):
    return openai.OpenAI(base_url=pod.url + "/v1", api_key=KEY, max_retries=0, timeout=60)


@pytest.mark.parametrize("server", manifests.SERVERS)
def test_the_server_knows_every_setting(server, tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text(next(d["data"]["server.yaml"] for d in manifests.of_kind(manifests.render(server), "ConfigMap")))
    run = subprocess.run([program("inferfluxd"), "--config", str(config), "--print-config"], capture_output=True, text=True,
                         timeout=60, env=clean_environment())
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", ["livenessProbe", "readinessProbe"])
def test_probes_of_a_ready_pod_succeed_by_its_address_without_a_key(pod, name):
    assert pod.probe(name).status_code == 200


def test_a_path_that_the_server_does_not_serve_would_fail_the_probe(pod):
    assert pod.get("/health").status_code == 404


def test_the_first_answer_by_the_services_name(pod):
    reply = client_of(pod).chat.completions.create(
        model="default", messages=[{"role": "user", "content": "What is the capital of France?"}], max_tokens=8,
        extra_headers={"Host": "inferflux.inferflux.svc.cluster.local"})
    assert "Paris" in reply.choices[0].message.content


def test_strangers_get_no_answer(pod):
    assert pod.get("/v1/models").status_code == 401


def test_it_opens_no_file_for_writing(pod):
    """It needs no writable file system: what it holds open for writing are sockets, and the log that a container has too."""
    writable = []
    for number in os.listdir(f"/proc/{pod.process.pid}/fd"):
        target = os.readlink(f"/proc/{pod.process.pid}/fd/{number}")
        info = Path(f"/proc/{pod.process.pid}/fdinfo/{number}").read_text()
        mode = int(info.split("flags:")[1].split()[0], 8) & os.O_ACCMODE
        if target.startswith("/") and mode != os.O_RDONLY and target not in ("/dev/null", str(pod.log_path)):
            writable.append(target)
    assert writable == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become the pod's user")
def test_it_runs_as_the_pods_user(pod):
    assert os.stat(f"/proc/{pod.process.pid}").st_uid == pod.spec["securityContext"]["runAsUser"] != 0


def test_a_pod_is_alive_from_the_moment_that_it_listens():
    """There is no startup probe, so the kubelet asks while the models load."""
    with Pod(manifests.render("base")) as loading:
        assert loading.probe("livenessProbe").status_code == 200
        loading.await_ready()
        assert loading.probe("readinessProbe").status_code == 200


def test_the_cpu_overlay_serves_the_model_of_its_claim():
    with Pod(manifests.render("overlays/cpu"), models=MODEL) as running:
        running.await_ready()
        assert [model.id for model in client_of(running).models.list()] == ["default-model"]


def test_the_nvidia_overlay_does_not_start_without_its_gpu():
    with pytest.raises((AssertionError, requests.ConnectionError)) as ended:
        with Pod(manifests.render("overlays/nvidia"), models=MODEL) as running:
            status = running.process.wait(60)
            raise AssertionError(running.log() if status else "it stopped without an error")
    assert "cuda (llama_cpp): " in str(ended.value)


def test_a_stream_outlives_sigterm():
    with Pod(manifests.render("base")) as leaving:
        leaving.await_ready()
        stream = client_of(leaving).completions.create(model="default", prompt="Once upon a time", max_tokens=400,
                                                       stream=True, extra_body={"ignore_eos": True})
        chunks = iter(stream)
        next(chunks)
        leaving.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
        assert reasons[-1] == "length" and reasons.count(None) == len(reasons) - 1
        assert leaving.process.wait(30) == 0
        assert time.monotonic() - started < manifests.server_settings(manifests.render("base"))["server"]["grace_seconds"]
