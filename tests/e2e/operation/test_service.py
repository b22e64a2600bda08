"""Health, models, metrics, keys, settings, and a clean shutdown."""

import hashlib
import signal
import subprocess
import threading
import time

import openai
import pytest
import requests
from server_process import MODEL, ROOT, ServerProcess, clean_environment, eventually, program


def run(*words: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([program("inferfluxd"), *words], capture_output=True, text=True, timeout=60,
                          env=clean_environment(**environment))


def test_models(client, model_id):
    model = client.models.retrieve(model_id)
    assert model.object == "model" and model.id == MODEL.stem
    exposure = model.model_extra["backend_exposure"]
    assert exposure["exposed_backend"] == "cpu" and exposure["fallback"] is False
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("no-such-model")


def test_health_and_version(server):
    for path in ("/livez", "/healthz", "/readyz", "/version"):
        assert requests.get(server.url + path, timeout=5).status_code == 200, path
    assert requests.head(server.url + "/readyz", timeout=5).status_code == 200


def test_metrics_count_what_was_served(server, client, model_id):
    labels = {"model": model_id, "backend": "cpu"}
    names = ("inferflux_model_prompt_tokens_total", "inferflux_model_completion_tokens_total",
             "inferflux_time_to_first_token_seconds_count", "inferflux_inter_token_latency_seconds_count")
    before = [server.metric(name, **labels) for name in names]
    assert eventually(lambda: server.metric("inferflux_kv_blocks_used", **labels) == 0)
    free = server.metric("inferflux_kv_blocks_free", **labels)
    answer = client.completions.create(model=model_id, prompt="Once", max_tokens=8, extra_body={"ignore_eos": True})
    assert eventually(lambda: server.metric(names[1], **labels) == before[1] + 8)
    prompt, generated, first, between = (server.metric(n, **labels) - b for n, b in zip(names, before))
    assert (prompt, generated, first, between) == (answer.usage.prompt_tokens, 8, 1, 7)
    assert eventually(lambda: server.metric("inferflux_running_sequences", **labels) == 0)
    assert server.metric("inferflux_queue_depth", **labels) == 0
    assert server.metric("inferflux_kv_blocks_used", **labels) == 0
    assert server.metric("inferflux_kv_blocks_cached", **labels) > 0
    assert server.metric("inferflux_kv_blocks_free", **labels) == free, "what is only cached is free"
    text = requests.get(server.url + "/metrics", timeout=5).text
    assert 'le="0.001"' in text and 'le="60"' in text and "# TYPE inferflux_kv_blocks_used gauge" in text


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_and_lets_a_running_answer_finish(how):
    server = ServerProcess()
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    result = {}

    def ask():
        result["answer"] = client.completions.create(model="default", prompt="Hi", max_tokens=1800, extra_body={"ignore_eos": True})

    thread = threading.Thread(target=ask)
    thread.start()
    assert eventually(lambda: server.metric("inferflux_running_sequences") == 1)
    assert server.stop(how) == 0, server.log()
    thread.join()
    assert result["answer"].usage.completion_tokens == 1800


def test_it_stops_while_a_stream_outlasts_the_grace():
    server = ServerProcess("--server-grace-seconds", "0")
    stream = requests.post(server.url + "/v1/completions", stream=True, timeout=20,
                           json={"prompt": "Hi", "max_tokens": 1900, "ignore_eos": True, "stream": True})
    next(stream.iter_lines())
    began = time.monotonic()
    assert server.stop() == 0, server.log()
    assert time.monotonic() - began < 10


def test_keys_are_asked_for_and_never_logged(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(hashlib.sha256(b"sk-right").hexdigest() + "  # a comment\n")
    with ServerProcess("--server-api-keys-file", str(keys)) as server:
        for key, status in (("sk-wrong", 401), ("sk-right", 200)):
            response = requests.get(server.url + "/v1/models", headers={"Authorization": f"Bearer {key}"}, timeout=5)
            assert response.status_code == status
        assert requests.post(server.url + "/v1/chat/completions", json={}, timeout=5).json()["error"]["code"] == "invalid_api_key"
        assert "sk-" not in server.log()


def test_settings_say_where_they_came_from(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("server:\n  port: 1\n  io_threads: 3\n")
    shown = run("--config", str(file), "--port", "2", "--print-config", INFERFLUX_LOG_LEVEL="error").stdout
    assert "server.port = 2  # flag --port\n" in shown
    assert f"server.io_threads = 3  # {file}:3\n" in shown
    assert "log.level = error  # environment INFERFLUX_LOG_LEVEL\n" in shown
    assert "server.host = 127.0.0.1  # default\n" in shown, "loopback unless somebody says otherwise"


@pytest.mark.parametrize("words, environment, named", [
    (["--prot", "1"], {}, "--port"), (["--port", "70000"], {}, "server.port"), ([], {"INFERFLUX_SERVER_PROT": "1"}, "SERVER_PORT"),
    (["--config", "/nonexistent.yaml"], {}, "/nonexistent.yaml")])
def test_a_wrong_setting_is_named(words, environment, named):
    result = run(*words, **environment)
    assert result.returncode == 2 and named in result.stderr


def test_a_model_that_cannot_be_loaded_ends_it_with_the_reason(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(MODEL.read_bytes()[:5000])
    for path, reason in ((broken, "broken.gguf"), (tmp_path / "none.gguf", "none.gguf")):
        result = run("--port", "0", "--model", str(path))
        assert result.returncode == 1 and reason in result.stderr


def test_two_models_are_served_by_their_ids(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text(f"models:\n- {{id: one, path: {MODEL}}}\n- {{id: two/b, path: {MODEL}, default: true, context: 256}}\n")
    with ServerProcess("--config", str(config), model=None) as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        assert [m.id for m in client.models.list()] == ["one", "two/b"]
        assert client.models.retrieve("two/b").model_extra["details"]["context"] == 256
        for asked, served in (("one", "one"), ("two/b", "two/b"), ("default", "two/b")):
            assert client.completions.create(model=asked, prompt="Hi", max_tokens=1).model == served


def test_backends_are_listed():
    shown = run("--backends").stdout
    assert any(line.split()[:3] == ["cpu", "native", "yes"] for line in shown.splitlines()), shown


def test_the_settings_file_that_ships_names_every_key_with_its_default():
    file = ROOT / "config" / "server.yaml"
    keys = lambda text: {line.partition("  # ")[0] for line in text.splitlines() if line}
    shown = run("--config", str(file), "--print-config")
    assert shown.returncode == 0, shown.stderr
    assert keys(shown.stdout) == keys(run("--print-config").stdout)
    unset = [line for line in shown.stdout.splitlines() if str(file) not in line]
    assert not unset, f"not in the file: {unset}"


def test_a_models_memory_is_told_by_device(client, model_id):
    details = client.models.retrieve(model_id).model_extra["details"]
    (held,) = details["memory"].values()
    assert 2 * details["parameters"] <= held["weight_bytes"] <= 4 * details["parameters"], "BF16, and the embedding twice"
    layers, kv_heads, head_dim, fp16 = 5, 2, 64, 2
    assert held["kv_bytes"] == details["kv_tokens"] * layers * 2 * kv_heads * head_dim * fp16


def test_a_model_is_a_word_of_the_command_line_and_its_context_a_letter():
    with ServerProcess(str(MODEL), "-c", "300", model=None) as server:
        listed = requests.get(server.url + "/v1/models", timeout=5).json()["data"][0]
        assert listed["id"] == MODEL.stem and listed["details"]["context"] == 300
        refused = requests.post(server.url + "/v1/completions", json={"prompt": "a " * 400}, timeout=10)
        assert refused.status_code == 400 and "300" in refused.json()["error"]["message"]


def test_a_name_in_place_of_a_file_says_that_nothing_is_downloaded():
    refused = run("llama3:8b", "--port", "0")
    assert refused.returncode != 0 and "InferFlux does not download models" in refused.stderr and "llama3:8b" in refused.stderr


def test_a_request_ends_at_the_time_that_its_header_or_the_server_sets():
    body = {"prompt": "Once upon a time", "max_tokens": 100000, "ignore_eos": True}
    with ServerProcess("--request-timeout", "30") as server:
        body["max_tokens"] = -1
        for word in ("0", "-1", "nan", "soon", "1e9"):
            refused = requests.post(server.url + "/v1/completions", json=body, headers={"X-Request-Timeout": word}, timeout=20)
            assert refused.status_code == 400 and "X-Request-Timeout" in refused.text, word
        late = requests.post(server.url + "/v1/completions", json=body, headers={"X-Request-Timeout": "0.002"}, timeout=60)
        assert late.status_code == 429 and "deadline" in late.text
        good = requests.post(server.url + "/v1/completions", json={"prompt": "a", "max_tokens": 2},
                             headers={"X-Request-Timeout": "20"}, timeout=60)
        assert good.status_code == 200
