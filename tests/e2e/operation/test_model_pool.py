"""Models that are loaded by name on first use, and leave when they are idle or another one needs their memory."""

import concurrent.futures
import datetime
import hashlib
import json
import os
import shutil
import subprocess
import time

import ollama
import openai
import pytest
import requests
from server_process import MODEL, ServerProcess, clean_environment, eventually, program

KV = ("--kv-budget", "8MiB")  # for each model: the same bytes on any machine


@pytest.fixture
def directory(tmp_path):
    """Two models, and what must not be one: links that lead out, a hidden file, a text."""
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy(MODEL, outside / "secret.gguf")
    models = tmp_path / "models"
    models.mkdir()
    shutil.copy(MODEL, models / "first.gguf")
    (models / "second.gguf").symlink_to("first.gguf")  # a link that stays inside
    (models / "out.gguf").symlink_to(outside / "secret.gguf")
    (models / "folder").symlink_to(outside)
    (models / ".hidden.gguf").symlink_to("first.gguf")
    (models / "notes.txt").write_text("no model")
    return models


def serve(directory, *flags, **more):
    return ServerProcess("--models-dir", str(directory), *KV, *flags, **{"model": None, **more})


def ask(server, model, key="none", **more):
    return requests.post(server.url + "/v1/completions", timeout=60, headers={"Authorization": f"Bearer {key}"},
                         json={"model": model, "prompt": "Once", "max_tokens": 4, "ignore_eos": True, **more})


def states(server):
    data = requests.get(server.url + "/v1/models", timeout=10).json()["data"]
    return {model["id"]: model["status"]["value"] for model in data}


def events(server, name):
    return server.metric("inferflux_model_load_events_total", event=name)


def test_a_server_with_nothing_loaded_loads_what_a_request_names(directory):
    with serve(directory) as server:
        assert requests.get(server.url + "/readyz", timeout=5).text == "ready\nno model is loaded; the first request for one loads it\n"
        assert states(server) == {"first": "unloaded", "second": "unloaded"}
        unnamed = requests.post(server.url + "/v1/completions", json={"prompt": "Hi"}, timeout=10)
        assert unnamed.status_code == 503 and "first, second" in unnamed.json()["error"]["message"], "the default route loads none"
        assert events(server, "loaded") == 0
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        assert client.completions.create(model="second", prompt="Once", max_tokens=4).model == "second"
        assert states(server) == {"first": "unloaded", "second": "loaded"}
        assert client.models.retrieve("first").status["value"] == "unloaded"
        assert server.metric("inferflux_model_first_use_loads_total") == 1
        assert 0 < server.metric("inferflux_pool_used_bytes") < server.metric("inferflux_pool_budget_bytes")


@pytest.mark.parametrize("path, body", [
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}),
    ("/v1/messages", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}),
    ("/v1/messages/count_tokens", {"messages": [{"role": "user", "content": "Hi"}]}),
    ("/v1/embeddings", {"input": "Hi"}),
    ("/tokenize", {"prompt": "Hi"}),
    ("/detokenize", {"tokens": [1, 2]}),
    ("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]}),
    ("/v1/completions", {"prompt": "Hi", "max_tokens": 2, "stream": True})])
def test_every_endpoint_loads_on_first_use(directory, path, body):
    with serve(directory) as server:
        response = requests.post(server.url + path, json={"model": "first", **body}, timeout=60)
        assert response.status_code == 200, response.text


def test_the_description_of_a_tokenizer_loads_its_model(directory):
    with serve(directory) as server:
        info = requests.get(server.url + "/tokenizer_info?model=first", timeout=60)
        assert info.status_code == 200 and info.json()["vocab_size"] == 3072
        assert requests.get(server.url + "/tokenizer_info?model=none", timeout=10).status_code == 404
        # A page of another site loads nothing, not even without keys.
        origin = {"Origin": "https://elsewhere.example"}
        refused = requests.post(server.url + "/tokenize", json={"model": "second", "prompt": "Hi"}, headers=origin, timeout=10)
        assert refused.status_code == 403 and "scope 'load'" in refused.json()["error"]["message"]
        assert states(server) == {"first": "loaded", "second": "unloaded"}


def test_properties_load_their_model_and_slots_do_not(directory):
    with serve(directory) as server:
        slots = requests.get(server.url + "/slots?model=first", timeout=10)
        assert (slots.status_code, slots.json()) == (200, []) and states(server) == {"first": "unloaded", "second": "unloaded"}
        props = requests.get(server.url + "/props?model=first", timeout=60)
        assert props.status_code == 200 and props.json()["model_alias"] == "first"
        assert states(server) == {"first": "loaded", "second": "unloaded"}
        for path in ("/slots", "/props"):
            assert requests.get(server.url + path + "?model=none", timeout=10).status_code == 404


def test_many_requests_at_once_are_one_load(directory):
    with serve(directory) as server, concurrent.futures.ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda _: ask(server, "first"), range(16)))
        assert [a.status_code for a in answers] == [200] * 16
        assert len({a.json()["choices"][0]["text"] for a in answers}) >= 1
        assert events(server, "loaded") == 1


@pytest.mark.parametrize("name, says", [
    ("out", "leads out"), ("../outside/secret", "'/'"), ("..", "leading dot"), (".hidden", "leading dot"), ("folder/secret", "'/'"),
    ("folder", "there is no model 'folder'"), ("notes", "first, second"), ("/etc/passwd", "'/'"), ("a\u0000b", "control character"),
    ("x" * 250, "there is no model")])
def test_a_name_leads_nowhere_else(directory, name, says):
    with serve(directory) as server:
        refused = ask(server, name)
        assert refused.status_code == 404, refused.text
        assert says in refused.json()["error"]["message"]
        assert events(server, "loaded") == events(server, "failed") == 0


def test_two_models_of_one_name_are_both_named(directory):
    (directory / "twin").mkdir()
    (directory / "twin" / "config.json").write_text("{}")
    shutil.copy(MODEL, directory / "twin.gguf")
    with serve(directory) as server:
        message = ask(server, "twin").json()["error"]["message"]
        assert "twin.gguf" in message and "rename one" in message
        assert "twin" not in states(server)


def test_a_file_that_does_not_load_says_why(directory):
    (directory / "broken.gguf").write_bytes(MODEL.read_bytes()[:5000])
    with serve(directory) as server:
        first = ask(server, "broken")
        assert first.status_code == 500 and first.json()["error"]["code"] == "model_load_failed"
        assert "broken.gguf" in first.json()["error"]["message"]
        assert ask(server, "broken").json() == first.json(), "the reason is kept, and the file not read again for a while"
        assert events(server, "failed") == 1
        failed = next(m for m in requests.get(server.url + "/v1/models", timeout=5).json()["data"] if m["id"] == "broken")
        assert failed["status"]["value"] == "failed" and "broken.gguf" in failed["status"]["error"]
        assert ask(server, "first").status_code == 200


def test_loading_on_first_use_needs_a_scope(directory, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("".join(f"{hashlib.sha256(k.encode()).hexdigest()} {scopes}\n" for k, scopes in
                            (("user", ""), ("loader", "read,generate,load"), ("owner", "generate,admin"))))
    with serve(directory, environment={"INFERFLUX_API_KEYS_FILE": str(keys)}) as server:
        refused = ask(server, "first", "user")
        assert refused.status_code == 403 and "'load'" in refused.json()["error"]["message"]
        assert ask(server, "first", "loader").status_code == 200
        assert ask(server, "first", "user").status_code == 200, "once it is loaded, every key may use it"
        assert ask(server, "second", "owner").status_code == 200


def test_a_web_page_of_another_site_loads_nothing(directory):
    with serve(directory) as server:
        refused = requests.post(server.url + "/v1/completions", json={"model": "first", "prompt": "Hi"}, timeout=10,
                                headers={"Origin": "https://example.com"})
        assert refused.status_code == 403 and events(server, "loaded") == 0


def test_an_idle_model_leaves_after_its_keep_alive(directory):
    with serve(directory, "--keep-alive", "1") as server:
        assert ask(server, "first").status_code == 200
        assert states(server)["first"] == "loaded"
        assert eventually(lambda: states(server)["first"] == "unloaded")
        # A model that leaves takes no requests at once; what it held is freed, and counted, a moment later.
        assert eventually(lambda: server.metric("inferflux_model_evictions_total", reason="idle") == 1)
        assert server.metric("inferflux_pool_used_bytes") == 0
        assert ask(server, "first").status_code == 200, "and comes back"


def test_a_keep_alive_of_zero_ends_with_the_last_request_and_pins_are_kept(directory, tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text(f"models:\n- {{id: kept, path: {MODEL}}}\n- {{id: own, path: {MODEL}, keep_alive: 1}}\n"
                      f"runtime: {{models_dir: {directory}, keep_alive: 0, kv_budget: 8MiB}}\n")
    with ServerProcess("--config", str(config), model=None) as server:
        assert ask(server, "first", max_tokens=50).json()["usage"]["completion_tokens"] == 50
        assert eventually(lambda: states(server)["first"] == "unloaded")
        assert eventually(lambda: states(server)["own"] == "unloaded")
        assert states(server)["kept"] == "loaded"
        assert ask(server, "own").status_code == 200, "a configured model comes back with its settings"


def test_the_least_recently_used_model_makes_room(directory):
    for name in ("third", "fourth"):
        shutil.copy(MODEL, directory / f"{name}.gguf")
    with serve(directory) as server:
        ask(server, "first")
        one = server.metric("inferflux_pool_used_bytes")
    budget = int(one * 2.5)
    with serve(directory, "--memory-budget", str(budget)) as server:
        for name in ("first", "second", "first", "third"):
            assert ask(server, name).status_code == 200
            assert server.metric("inferflux_pool_used_bytes") <= budget
        assert {n for n, s in states(server).items() if s == "loaded"} == {"first", "third"}
        assert server.metric("inferflux_model_evictions_total", reason="memory") == 1
        assert not [line for line in requests.get(server.url + "/metrics", timeout=5).text.splitlines() if 'model="second"' in line]


def test_what_does_not_fit_says_who_holds_the_memory(directory):
    with serve(directory) as server:
        ask(server, "first")
        one = server.metric("inferflux_pool_used_bytes")
    with serve(directory, "--memory-budget", str(int(one * 1.5)), model=MODEL) as server:
        refused = ask(server, "first")
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "insufficient_memory", refused.text
        message = refused.json()["error"]["message"]
        assert MODEL.stem in message and "memory_budget" in message and "MiB" in message
        assert ask(server, MODEL.stem).status_code == 200, "a configured model is pinned"
        assert states(server)["first"] == "unloaded", "it may fit later"


def test_a_request_waits_no_longer_than_its_timeout_and_the_load_goes_on(directory):
    with serve(directory, "--backend", "reference") as server:
        refused = ask(server, "first", timeout=0.001)
        assert refused.status_code == 429 and "timeout" in refused.json()["error"]["message"], refused.text
        assert eventually(lambda: states(server)["first"] == "loaded", 60)
        assert events(server, "loaded") == 1


def test_a_client_that_leaves_does_not_end_the_load_of_others(directory):
    with serve(directory, "--backend", "reference") as server, concurrent.futures.ThreadPoolExecutor(2) as threads:
        def leave():
            with server.connect() as socket:
                body = b'{"model": "first", "prompt": "Hi", "max_tokens": 1}'
                socket.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                               b"Content-Length: %d\r\n\r\n" % len(body) + body)
                time.sleep(0.03)
        threads.submit(leave)
        assert threads.submit(lambda: ask(server, "first", max_tokens=1)).result().status_code == 200
        assert events(server, "loaded") == 1


def test_an_empty_directory_is_not_ready_until_a_model_is_there(tmp_path):
    with serve(tmp_path, wait=False) as server:
        unready = requests.get(server.url + "/readyz", timeout=5)
        assert unready.status_code == 503 and "none can be" in unready.text
        os.link(MODEL, tmp_path / "late.gguf") if os.stat(MODEL).st_dev == os.stat(tmp_path).st_dev else shutil.copy(MODEL, tmp_path / "late.gguf")
        assert requests.get(server.url + "/readyz", timeout=5).status_code == 200
        assert ask(server, "late").status_code == 200


def test_an_admin_loads_by_name_and_pins(directory):
    with serve(directory, "--keep-alive", "0") as server:
        admin = server.url + "/v1/admin/models"
        loaded = requests.post(admin, json={"id": "first", "pin": True}, timeout=60)
        assert loaded.status_code == 200, loaded.text
        assert ask(server, "first").status_code == 200
        assert states(server)["first"] == "loaded", "pinned: no keep-alive ends it"
        assert requests.delete(admin + "/first", timeout=60).status_code == 200
        assert states(server)["first"] == "unloaded"
        missing = requests.post(admin, json={"id": "third"}, timeout=60)
        assert missing.status_code == 404 and "first, second" in missing.json()["error"]["message"]


def test_a_loaded_model_is_pinned_and_released(directory):
    with serve(directory, "--keep-alive", "3600") as server:
        admin = server.url + "/v1/admin/models"
        assert ask(server, "first").status_code == 200
        pinned = requests.patch(admin + "/first", json={"pin": True, "keep_alive": 0}, timeout=10)
        assert pinned.status_code == 200, pinned.text
        assert (pinned.json()["pinned"], pinned.json()["keep_alive"]) == (True, 0)
        listed = requests.get(admin, timeout=10).json()["data"][0]
        assert listed["pinned"] and listed["pool_bytes"] == server.metric("inferflux_pool_used_bytes")
        assert ask(server, "first").status_code == 200 and states(server)["first"] == "loaded"
        assert requests.patch(admin + "/first", json={"pin": False}, timeout=10).status_code == 200
        assert eventually(lambda: states(server)["first"] == "unloaded")
        missing = requests.patch(admin + "/first", json={"pin": True}, timeout=10)
        assert missing.status_code == 404 and "can be loaded: first" in missing.json()["error"]["message"]
        assert requests.patch(admin + "/first", json={"pin": "yes"}, timeout=10).status_code == 400


def test_ollamas_clients_load_keep_and_unload(directory):
    with serve(directory) as server:
        llama = ollama.Client(host=server.url)
        assert sorted(m.model for m in llama.list().models) == ["first", "second"]
        assert all(m.size > 0 and m.modified_at for m in llama.list().models)
        assert llama.generate("first:latest", keep_alive="1h").done_reason == "load"
        [running] = llama.ps().models
        assert running.model == "first" and 3500 < (running.expires_at - datetime.datetime.now(datetime.timezone.utc)).total_seconds() < 3700
        assert llama.generate("first", keep_alive=0).done_reason == "unload"
        assert eventually(lambda: llama.ps().models == [])
        assert llama.generate("second", "Once", options={"num_predict": 3}, keep_alive=-1).eval_count == 3
        assert llama.ps().models[0].expires_at.year == 9999


def test_inferctl_lists_loads_and_pins_by_name(directory):
    with serve(directory, "--keep-alive", "0") as server:
        def inferctl(*words):
            return subprocess.run([program("inferctl"), *words, "--url", server.url], capture_output=True, text=True, timeout=60,
                                  env=clean_environment())
        assert [line.split()[0] for line in inferctl("models").stdout.splitlines() if "unloaded" in line] == ["first", "second"]
        loaded = inferctl("admin", "load", "--id", "second", "--pin")
        assert loaded.returncode == 0, loaded.stderr
        assert states(server) == {"first": "unloaded", "second": "loaded"}
        assert json.loads(inferctl("admin", "keep", "second", "--pin", "false").stdout)["pinned"] is False
        assert eventually(lambda: states(server)["second"] == "unloaded")
        missing = inferctl("admin", "load", "--id", "third")
        assert missing.returncode == 1 and "first" in missing.stderr


def test_a_models_directory_that_is_not_there_ends_the_start(tmp_path):
    ended = subprocess.run([program("inferfluxd"), "--port", "0", "--models-dir", str(tmp_path / "none")], capture_output=True, text=True,
                           timeout=60, env=clean_environment())
    assert ended.returncode == 1 and "runtime.models_dir" in ended.stderr and str(tmp_path / "none") in ended.stderr
