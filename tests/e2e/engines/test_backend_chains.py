"""A chain of backends has the same meaning in every source: flag, file, environment or admin API."""

import struct
import subprocess

import pytest
import requests
from server_process import MODEL, ServerProcess, clean_environment, engines, program

PRIORITY = ("--runtime-backend-priority", "reference,cpu")  # an order that `auto` has only if configured


def admin(server, method, path, body=None):
    return requests.request(method, server.url + "/v1/admin/" + path, json=body, timeout=60)


def exposure(server, model=None):
    models = {m["id"]: m for m in admin(server, "GET", "models").json()["data"]}
    return models[model or next(iter(models))]["backend_exposure"]


def outcomes(shown):
    return [(a["backend"], a["provider"], a["outcome"]) for a in shown["attempts"]]


@pytest.mark.parametrize("chain", ["auto", "AUTO", " Any ", "cuda,auto", "cuda, AUTO", ",auto,"])
@pytest.mark.parametrize("source", ["flag", "environment", "file", "model"])
def test_auto_walks_the_configured_priority(tmp_path, chain, source):
    flags, environment = [*PRIORITY], {}
    if source == "flag":
        flags += ["--backend", chain]
    elif source == "environment":
        environment = {"INFERFLUX_RUNTIME_BACKEND": chain}
    else:
        file = tmp_path / "server.yaml"
        file.write_text(f'runtime: {{backend: "{chain}"}}\n' if source == "file" else
                        f'models: [{{path: {MODEL}, backend: "{chain}"}}]\n')
        flags += ["--config", str(file)]
    with ServerProcess(*flags, model=None if source == "model" else MODEL, environment=environment) as server:
        shown = exposure(server)
        assert shown["exposed_backend"] == "reference"
        first = [("cuda", "native", "skipped"), ("cuda", "llama_cpp", "skipped")] if "cuda" in chain else []
        assert outcomes(shown) == [*first, ("reference", "native", "loaded")]
        assert shown["chain"] == (["cuda"] if "cuda" in chain else []) + ["reference", "cpu"]


def test_empty_words_of_a_chain_are_passed_over():
    with ServerProcess("--backend", "reference,,cpu") as server:
        shown = exposure(server)
        assert shown["exposed_backend"] == "reference" and shown["chain"] == ["reference", "cpu"]


@pytest.mark.parametrize("backend", ["auto", "AUTO", "cuda,auto", ["cuda", "auto"], ["auto"]])
def test_the_admin_api_takes_the_same_chains(backend):
    with ServerProcess(*PRIORITY, "--backend", "cpu") as server:
        loaded = admin(server, "POST", "models", {"path": str(MODEL), "id": "b", "backend": backend})
        assert loaded.status_code == 200, loaded.text
        shown = loaded.json()["backend_exposure"]
        word = ",".join(backend) if isinstance(backend, list) else backend
        assert shown["requested_backend"] == word and shown["exposed_backend"] == "reference"
        # A metric's label has few values: it is the normalised chain.
        assert server.metric("inferflux_backend_exposures_total", requested_backend=word.lower(), exposed_backend="reference") == 1


@pytest.mark.parametrize("backend", [[], ",", ["cpu", 3], "cpu,abacus"])
def test_a_chain_that_means_nothing_is_refused(backend):
    with ServerProcess() as server:
        refused = admin(server, "POST", "models", {"path": str(MODEL), "id": "b", "backend": backend})
        assert refused.status_code == 400 and refused.json()["error"]["param"].startswith("backend"), refused.text


def test_auto_shows_every_target_that_it_passed_over():
    with ServerProcess() as server:
        shown = exposure(server)
        assert shown["exposed_backend"] == "cpu" and shown["fallback"] is False
        assert shown["chain"][:2] == ["cuda", "rocm"] and shown["chain"][-2:] == ["cpu", "reference"]
        passed = [a for a in shown["attempts"] if a["outcome"] == "skipped"]
        assert {"cuda", "rocm", "vulkan"} <= {a["backend"] for a in passed} and all(a["reason"] for a in passed)


def test_a_provider_that_a_switch_forbids_is_no_fallback():
    with ServerProcess("--backend", "cpu", "--runtime-backend-exposure-prefer-native", "false",
                       "--runtime-backend-exposure-allow-llama-fallback", "false") as server:
        shown = exposure(server)
        assert outcomes(shown) == [("cpu", "llama_cpp", "skipped"), ("cpu", "native", "loaded")]
        assert shown["fallback"] is False and shown["fallback_reason"] == ""


@pytest.mark.parametrize("backend, word, provider", [("auto", "llama", ("cpu", "llama_cpp")), ("llama_cpp_cpu", "llama", ("cpu", "llama_cpp")),
                                                     ("vulkan", "vulkan", ("vulkan", "llama_cpp")), ("mlx", "mlx", ("mlx", "native"))])
def test_what_an_engine_that_is_not_here_may_run_names_the_command_that_adds_it(tmp_path, backend, word, provider):
    if engines()[provider]["available"]:
        pytest.skip(f"{provider} is in this build")
    # An architecture of as many letters that no engine of ours has; the metadata keep their names.
    name = b"general.architecture" + struct.pack("<IQ", 8, 5)
    file = tmp_path / "other.gguf"
    content = MODEL.read_bytes()
    assert content.count(name + b"llama") == 1
    file.write_bytes(content.replace(name + b"llama", name + b"abcde"))
    ended = subprocess.run([program("inferfluxd"), str(file), "--port", "0", "--backend", backend], capture_output=True, text=True,
                           timeout=60, env=clean_environment())
    assert ended.returncode != 0 and f"'./run --with {word}' adds it" in ended.stderr, ended.stderr


def test_a_wrong_setting_is_not_answered_with_another_engine():
    ended = subprocess.run([program("inferfluxd"), str(MODEL), "--port", "0", "--device", "7"], capture_output=True, text=True,
                           timeout=60, env=clean_environment())
    assert ended.returncode != 0 and "no device 7" in ended.stderr and "./run --with" not in ended.stderr, ended.stderr
