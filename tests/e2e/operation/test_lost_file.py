"""A model's file that is truncated while it is served: the model fails with a clear error, or goes on; the server lives."""

import os
import shutil
import subprocess

import pytest
import requests
from server_process import MODEL, ServerProcess, clean_environment, engines, program


def ask(server, model):
    return requests.post(server.url + "/v1/completions", timeout=60, json={
        "model": model, "prompt": "The capital of France is", "max_tokens": 8, "temperature": 0})


@pytest.mark.parametrize("backend, flags", [("native_cpu", ()), ("native_cpu", ("--repack", "false")), ("llama_cpp_cpu", ())],
                         ids=["repacked", "mapped", "llama.cpp"])
def test_a_truncated_model_fails_alone_and_comes_back(tmp_path, backend, flags):
    if backend == "llama_cpp_cpu" and not engines()["cpu", "llama_cpp"]["available"]:
        pytest.skip("this build has no llama.cpp")
    lost = tmp_path / "lost.gguf"
    shutil.copy(MODEL, lost)
    config = tmp_path / "server.yaml"
    config.write_text(f"models:\n- {{id: kept, path: {MODEL}}}\n- {{id: lost, path: {lost}, backend: {backend}}}\n")
    with ServerProcess("--config", str(config), "--kv-budget", "16MiB", *flags, model=None) as server:
        right = ask(server, "lost").json()["choices"][0]["text"]
        os.truncate(lost, 4096)
        for _ in range(3):
            answer = ask(server, "lost")
            if answer.status_code == 200:  # its weights are copies
                assert answer.json()["choices"][0]["text"] == right
            else:
                assert answer.status_code == 500
                message = answer.json()["error"]["message"]
                assert str(lost) in message and "load it again" in message
            assert ask(server, "kept").status_code == 200
        shutil.copy(MODEL, lost)
        assert requests.delete(server.url + "/v1/admin/models/lost", timeout=60).status_code == 200
        again = requests.post(server.url + "/v1/admin/models", timeout=120, json={"id": "lost", "path": str(lost), "backend": backend})
        assert again.status_code == 200, again.text
        assert ask(server, "lost").json()["choices"][0]["text"] == right


def test_a_fifo_as_a_model_is_refused_at_once(tmp_path):
    fifo = tmp_path / "model.gguf"
    os.mkfifo(fifo)
    done = subprocess.run([program("inferfluxd"), "--port", "0", "--model", str(fifo)], capture_output=True, text=True, timeout=30,
                          env=clean_environment())
    assert done.returncode == 1 and "not a regular file" in done.stderr
    with ServerProcess() as server:
        refused = requests.post(server.url + "/v1/admin/models", json={"path": str(fifo)}, timeout=10)
        assert 400 <= refused.status_code < 500 and "not a regular file" in refused.text
