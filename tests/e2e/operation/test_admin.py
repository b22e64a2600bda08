"""Loading, unloading and selecting models while the server runs, over HTTP and with inferctl."""

import hashlib
import json
import subprocess
import threading

import openai
import pytest
import requests
from server_process import MODEL, ServerProcess, clean_environment, eventually, program


@pytest.fixture(scope="module")
def server():
    with ServerProcess() as running:
        yield running


def admin(server, method, path, body=None, **headers):
    return requests.request(method, server.url + "/v1/admin/" + path, json=body, headers=headers, timeout=60)


def ask(server, model):
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    return client.completions.create(model=model, prompt="Once", max_tokens=4, extra_body={"ignore_eos": True}).model


def inferctl(server, *words):
    return subprocess.run([program("inferctl"), *words, "--url", server.url], capture_output=True, text=True, timeout=60,
                          env=clean_environment())


def test_a_model_is_loaded_made_the_default_and_unloaded(server):
    loaded = admin(server, "POST", "models", {"path": str(MODEL), "id": "second", "context": 256})
    assert loaded.status_code == 200, loaded.text
    assert loaded.json()["state"] == "ready" and loaded.json()["details"]["context"] == 256
    assert loaded.json()["backend_exposure"]["exposed_backend"] == "cpu"
    assert ask(server, "second") == "second" and ask(server, "default") == MODEL.stem
    assert admin(server, "PUT", "models/default", {"id": "second"}).json() == {"default": "second"}
    assert ask(server, "default") == "second"
    assert admin(server, "DELETE", "models/second").json() == {"id": "second", "deleted": True, "default": MODEL.stem}
    assert ask(server, "default") == MODEL.stem
    with pytest.raises(openai.NotFoundError):
        ask(server, "second")
    events = {event: server.metric("inferflux_model_load_events_total", event=event) for event in ("loaded", "unloaded")}
    assert events["loaded"] >= 2 and events["unloaded"] >= 1
    assert server.metric("inferflux_backend_exposures_total", requested_backend="auto", exposed_backend="cpu", fallback="false") >= 2


def test_a_server_whose_only_model_was_unloaded_is_not_ready_and_says_why():
    with ServerProcess() as alone:
        gone = admin(alone, "DELETE", f"models/{MODEL.stem}").json()
        assert gone["default"] is None
        unready = requests.get(alone.url + "/readyz", timeout=5)
        assert unready.status_code == 503 and f"{MODEL.stem} was unloaded" in unready.text
        assert ask(alone, MODEL.stem) == MODEL.stem, "a request that names it loads it again"
        assert requests.get(alone.url + "/readyz", timeout=5).text == "ready\n"


def series_of(server, model):
    return [line for line in requests.get(server.url + "/metrics", timeout=10).text.splitlines() if f'model="{model}"' in line]


def test_the_metrics_of_an_unloaded_model_go(server):
    for _ in range(2):  # they return with the model, starting at zero
        admin(server, "POST", "models", {"path": str(MODEL), "id": "counted"})
        ask(server, "counted")
        assert server.metric("inferflux_requests_total", model="counted") == 1
        assert server.metric("inferflux_model_ready", model="counted") == 1
        assert admin(server, "DELETE", "models/counted").status_code == 200
        assert eventually(lambda: series_of(server, "counted") == [])


def test_a_failed_load_leaves_no_metrics(server):
    assert admin(server, "POST", "models", {"path": str(MODEL), "id": "never", "backend": "cuda"}).status_code == 400
    assert series_of(server, "never") == []
    assert server.metric("inferflux_model_load_events_total", event="failed") >= 1


def load_three_times_at_once(server):
    answers = []
    body = {"path": str(MODEL), "id": "thrice"}
    threads = [threading.Thread(target=lambda: answers.append(admin(server, "POST", "models", body))) for _ in range(3)]
    # First a load that occupies the loader, so that the other three wait together.
    first = threading.Thread(target=lambda: admin(server, "POST", "models", {"path": str(MODEL), "id": "before", "backend": "reference"}))
    for thread in (first, *threads):
        thread.start()
    for thread in (first, *threads):
        thread.join()
    return answers


# A request that a busy machine delays until the load has ended is refused, as the id is taken then: up to five rounds.
def test_equal_loads_at_once_are_one_load(server):
    for _ in range(5):
        before = server.metric("inferflux_model_load_events_total", event="loaded")
        answers = load_three_times_at_once(server)
        loads = server.metric("inferflux_model_load_events_total", event="loaded") - before
        for model in ("before", "thrice"):
            admin(server, "DELETE", f"models/{model}")
        assert loads == 2
        if all(a.status_code == 200 for a in answers):
            break
    assert [a.status_code for a in answers] == [200] * 3, [a.text for a in answers]
    assert len({a.json()["created"] for a in answers}) == 1


def test_a_model_that_fails_at_the_start_leaves_the_others(tmp_path):
    file = tmp_path / "server.yaml"
    file.write_text(f"models:\n- {{id: absent, path: {tmp_path}/none.gguf, default: true}}\n- {{id: there, path: {MODEL}}}\n")
    with ServerProcess("--config", str(file), model=None) as server:
        assert ask(server, "default") == "there"
        assert requests.get(server.url + "/readyz", timeout=5).text == "ready\nfailed to load: absent\n"
        failed = [m for m in admin(server, "GET", "models").json()["data"] if m["state"] == "failed"]
        assert [m["id"] for m in failed] == ["absent"] and "none.gguf" in failed[0]["error"]
        assert "model 'absent'" in server.log()
        assert "failed" in inferctl(server, "admin", "models").stdout
        # A later load, or an unload, clears the failure.
        assert admin(server, "POST", "models", {"path": str(MODEL), "id": "absent"}).status_code == 200
        assert requests.get(server.url + "/readyz", timeout=5).text == "ready\n"


@pytest.mark.parametrize("backend, setting", [("cpu", {"gpu_layers": 4}), ("native_cpu", {"gpu_layers": 4}), ("Reference", {"gpu_layers": -1})])
def test_a_setting_that_the_named_backend_cannot_use_is_refused(server, backend, setting):
    refused = admin(server, "POST", "models", {"path": str(MODEL), "id": "a", "backend": backend, **setting})
    assert refused.status_code == 400 and "gpu_layers" in refused.json()["error"]["message"], refused.text


def test_a_setting_for_all_backends_that_the_chosen_one_cannot_use_is_warned_about():
    with ServerProcess("--runtime-mlx-requantise", "true", "--runtime-llama-cpp-gpu-layers", "3",
                       "--runtime-llama-cpp-flash-attention", "on", "--backend", "auto,cpu") as server:
        notes = admin(server, "GET", "models").json()["data"][0]["details"]["notes"]
        for name in ("mlx_requantise", "gpu_layers", "flash_attention"):
            assert any(f"the setting {name} has no effect: cpu (native)" in note for note in notes), notes
            assert f"the setting {name} has no effect" in server.log()
    with ServerProcess("--runtime-repack", "false") as server:
        assert "has no effect" not in server.log()


def test_a_load_tells_its_progress_and_ends_with_the_model(server):
    with requests.post(server.url + "/v1/admin/models", json={"path": str(MODEL), "id": "told", "stream": True}, stream=True,
                       timeout=60) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        events = [line[6:] for line in response.iter_lines(decode_unicode=True) if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    told = [json.loads(event) for event in events[:-1]]
    assert told[-1]["id"] == "told" and told[-1]["state"] == "ready"
    assert all(0 <= event["progress"] <= 1 for event in told[:-1])
    assert admin(server, "DELETE", "models/told").status_code == 200


def test_an_unload_waits_for_what_runs(server):
    admin(server, "POST", "models", {"path": str(MODEL), "id": "busy"})
    result = {}

    def generate():
        result["answer"] = requests.post(server.url + "/v1/completions", timeout=60, json={
            "model": "busy", "prompt": "Hi", "max_tokens": 1500, "ignore_eos": True}).json()

    thread = threading.Thread(target=generate)
    thread.start()
    assert eventually(lambda: server.metric("inferflux_running_sequences", model="busy") == 1)
    assert admin(server, "DELETE", "models/busy").status_code == 200
    thread.join()
    assert result["answer"]["usage"]["completion_tokens"] == 1500


@pytest.mark.parametrize("body, status, named", [
    ({}, 400, "path"), ({"path": "/none.gguf"}, 404, "/none.gguf"), ({"path": "x", "colour": 1}, 400, "colour"),
    ({"path": str(MODEL), "backend": "abacus"}, 400, "abacus"), ({"path": str(MODEL), "id": MODEL.stem}, 400, MODEL.stem),
    ({"path": str(MODEL), "backend": "cpu", "device": 3, "id": "a"}, 400, "no device 3: this backend has 0 ("),
    ({"path": str(MODEL), "device": -2}, 400, "device"), ({"path": str(MODEL), "device": "-2"}, 400, "device"),
    ({"path": str(MODEL), "device": "x" * 257}, 400, "device"), ({"path": str(MODEL), "device": True}, 400, "device"),
    ({"path": str(MODEL), "backend": "cpu", "device": "GPU-5e2f", "id": "a"}, 400, "no device GPU-5e2f: this backend has 0 ("),
    ({"path": str(MODEL), "backend": "cpu", "device": "0000:c1:00.0", "id": "a"}, 400, "no device 0000:c1:00.0"),
    ({"path": str(MODEL), "draft": "/none.gguf", "id": "a"}, 404, "/none.gguf"),
    ({"path": str(MODEL), "id": "a\nb"}, 400, "control characters"), ({"path": str(MODEL), "id": " a"}, 400, "a space at an end"),
    ({"path": str(MODEL), "id": "default"}, 400, "default"), ({"path": str(MODEL), "id": "a", "backend": "cuda"}, 400, "cuda")])
def test_a_bad_load_is_one_clear_error(server, body, status, named):
    response = admin(server, "POST", "models", body)
    assert response.status_code == status, response.text
    assert named in response.json()["error"]["message"]
    assert [m["id"] for m in admin(server, "GET", "models").json()["data"]] == [MODEL.stem]


def test_a_file_that_is_no_model_is_the_callers_error(server, tmp_path):
    for name, content in {"cut.gguf": MODEL.read_bytes()[:5000], "text.gguf": b"not a model", "empty.gguf": b""}.items():
        (tmp_path / name).write_bytes(content)
        response = admin(server, "POST", "models", {"path": str(tmp_path / name), "id": "bad"})
        assert 400 <= response.status_code < 500, response.text
        assert name in response.json()["error"]["message"]
    figures = requests.get(server.url + "/metrics", timeout=10).text
    assert 'model="bad"' not in figures, "the series of a failed load have ended"


def test_each_backend_runs_with_its_own_settings(tmp_path):
    file = tmp_path / "server.yaml"
    file.write_text(f"""
runtime:
  backends:
  - {{backend: cpu, kv_dtype: int8, device: 0}}
  - {{backend: reference, device: 1}}
models:
- {{path: {MODEL}, id: own, kv_dtype: bf16, format: gguf}}
- {{path: {MODEL}, id: of-cpu}}
- {{path: {MODEL}, id: chain, backend: [reference, cpu]}}
""")
    with ServerProcess("--config", str(file), model=None) as server:
        models = {m["id"]: m for m in admin(server, "GET", "models").json()["data"]}
        assert {i: m["details"]["kv_dtype"] for i, m in models.items()} == {"own": "bf16", "of-cpu": "int8", "chain": "int8"}
        first = models["chain"]["backend_exposure"]["attempts"][0]
        assert first["backend"] == "reference" and "no device 1" in first["reason"], "what an engine lacks, the next one serves"
        refused = admin(server, "POST", "models", {"path": str(MODEL), "id": "a", "backend": "reference"})
        assert refused.status_code == 400 and "no device 1" in refused.json()["error"]["message"]
        for word in (0, "0", "cpu", "", -1):
            taken = admin(server, "POST", "models", {"path": str(MODEL), "id": "a", "backend": "reference", "device": word})
            assert taken.status_code == 200, taken.text
            assert admin(server, "DELETE", "models/a").status_code == 200


@pytest.mark.parametrize("entry, named", [
    ("{backend: abacus}", "abacus"), ("{backend: auto}", "for one backend"), ("{backend: cpu, device: 7}", "no device 7"),
    ("{backend: cpu, gpu_layers: 2}", "gpu_layers"), ("{backend: native_cpu, flash_attention: on}", "flash_attention"),
    ("{backend: llama_cpp_cuda, mlx_requantise: true}", "mlx_requantise")])
def test_settings_of_a_backend_that_cannot_be_end_the_start(tmp_path, entry, named):
    file = tmp_path / "server.yaml"
    file.write_text(f"runtime:\n  backend: native_cpu\n  backends: [{entry}]\n")
    ended = subprocess.run([program("inferfluxd"), "--config", str(file), "--port", "0"], capture_output=True, text=True, timeout=60,
                           env=clean_environment())
    assert ended.returncode != 0 and named in ended.stderr, ended.stderr


def test_a_format_that_is_not_the_files_is_refused(tmp_path):
    models = f"[{{path: {MODEL}, format: huggingface}}]"
    ended = subprocess.run([program("inferfluxd"), "--port", "0"], capture_output=True, text=True, timeout=60,
                           env=clean_environment(INFERFLUX_MODELS=models))
    assert ended.returncode != 0 and "'gguf'" in ended.stderr and "'huggingface'" in ended.stderr, ended.stderr


def test_what_is_not_there_is_404(server):
    assert admin(server, "DELETE", "models/none").status_code == 404
    assert admin(server, "PUT", "models/default", {"id": "none"}).status_code == 404


def test_cache_and_pools_describe_each_model(server):
    cache = admin(server, "GET", "cache").json()["data"][0]
    assert cache["model"] == MODEL.stem and cache["kv_dtype"] == "fp16" and cache["blocks_free"] > 0
    pool = admin(server, "GET", "pools").json()["data"][0]
    assert pool["provider"] == "native" and pool["queued"] == 0
    assert pool["graphs"] == {"captured": 0, "replays": 0, "refusals": 0}, "cpu captures nothing"


def test_web_pages_may_not_administer(server):
    assert admin(server, "GET", "models", Origin="https://example.com").status_code == 403
    own = f"127.0.0.1:{server.port}"
    assert admin(server, "GET", "models", Origin=f"http://{own}").status_code == 200, "the page at / may"
    # DNS rebinding: another site's name leads here, and its page calls its own origin.
    assert admin(server, "GET", "models", Host=f"example.com:{server.port}", Origin=f"http://example.com:{server.port}").status_code == 403
    assert admin(server, "GET", "models", Host=own, Origin="null").status_code == 403


def test_the_page_can_be_switched_off(server):
    shown = requests.get(server.url + "/", timeout=10)
    assert shown.status_code == 200 and "frame-ancestors 'none'" in shown.headers["Content-Security-Policy"]
    with ServerProcess("--page", "false") as without:
        refused = requests.get(without.url + "/", timeout=10)
        assert refused.status_code == 404 and "server.page" in refused.json()["error"]["message"]


def test_admin_needs_its_scope(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("".join(f"{hashlib.sha256(k.encode()).hexdigest()} {scopes}\n" for k, scopes in (("user", ""), ("owner", "admin"))))
    with ServerProcess(environment={"INFERFLUX_API_KEYS_FILE": str(keys)}) as server:
        for key, status in (("user", 403), ("owner", 200)):
            assert admin(server, "GET", "models", Authorization=f"Bearer {key}").status_code == status
        generate = {"url": server.url + "/v1/completions", "json": {"prompt": "Hi", "max_tokens": 1}, "timeout": 10}
        assert requests.post(**generate, headers={"Authorization": "Bearer owner"}).status_code == 403
        assert requests.post(**generate, headers={"Authorization": "Bearer user"}).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "0", "::"])
def test_without_keys_it_listens_on_this_machine_only(host):
    result = subprocess.run([program("inferfluxd"), "--host", host, "--port", "0"], capture_output=True, text=True, timeout=60,
                            env=clean_environment())
    assert result.returncode == 1 and "server.api_keys_file" in result.stderr


def test_inferctl_administers(server):
    loaded = inferctl(server, "admin", "load", str(MODEL), "--id", "by-hand", "--context", "128")
    assert loaded.returncode == 0 and "by-hand" in loaded.stdout, loaded.stderr
    for header in ("EXPOSED", "REQUESTED", "PROVIDER", "FALLBACK", "READY"):
        assert header in inferctl(server, "models").stdout
    assert json.loads(inferctl(server, "admin", "default", "by-hand").stdout) == {"default": "by-hand"}
    assert json.loads(inferctl(server, "admin", "cache").stdout)["data"][1]["model"] == "by-hand"
    assert json.loads(inferctl(server, "admin", "unload", "by-hand").stdout)["deleted"] is True
    refused = inferctl(server, "admin", "load", "/none.gguf")
    assert refused.returncode == 1 and "/none.gguf" in refused.stderr
