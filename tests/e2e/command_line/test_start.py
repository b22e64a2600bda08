"""What the server takes on its command line as people type it, and what it says while it starts."""

import concurrent.futures
import json
import os
import pty
import re
import select
import shutil
import subprocess
import time

import requests
from server_process import MODEL, ServerProcess, clean_environment, eventually, program


def read_until(descriptor: int, wanted: str, seconds: float = 60) -> str:
    """What a program has written to its terminal, up to `wanted`."""
    seen, until = b"", time.monotonic() + seconds
    while time.monotonic() < until:
        if not select.select([descriptor], [], [], 0.2)[0]:
            continue
        seen += os.read(descriptor, 65536)
        if wanted in seen.decode(errors="replace"):
            return seen.decode(errors="replace")
    raise AssertionError(f"no {wanted!r} in {seen!r}")


class Start:
    """A server whose standard error is a terminal, and what it wrote there until it was ready."""

    def __init__(self, *words: str):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([program("inferfluxd"), "--port", "0", *words], stderr=slave, stdin=slave, stdout=slave,
                                        env=clean_environment(), close_fds=True)
        os.close(slave)

    def __enter__(self) -> str:
        return read_until(self.master, "Ctrl-C")

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(30) == 0
        os.close(self.master)


def test_a_person_sees_where_it_serves_and_what():
    with Start(str(MODEL)) as seen:
        url = re.search(r"page +(http://\S+)/", seen).group(1)
        assert "InferFlux is ready." in seen and f"{url}/v1" in seen and "none is needed" in seen
        assert re.search(rf"model +{MODEL.stem} on cpu \(native\), \w+, context \d+", seen)
        assert "<title>" in requests.get(url + "/", timeout=10).text
        assert requests.get(url + "/readyz", timeout=10).status_code == 200


def test_a_person_sees_how_far_it_is_and_not_a_hundred_lines():
    models = [word for i in range(20) for word in ("-m", f"m{i}={MODEL}")]
    with Start(*models, "--kv-budget", "2MiB", "--log-level", "info") as seen:
        assert re.search(r"\[[#.]{30}\] +\d+% .*loading m\d+", seen), seen
        banner = seen[seen.index("InferFlux is ready."):]
        assert re.search(r"model +m0 on cpu .*, the default", banner) and "and 12 more; inferctl list shows all" in banner


def test_a_log_has_the_same_in_one_line():
    with ServerProcess("--log-format", "json", "--served-model-name", "gpt-4o") as server:
        ready = [line for line in map(json.loads, server.log().splitlines()) if line["message"] == "ready"]
        assert len(ready) == 1
        assert ready[0]["url"] == server.url and ready[0]["page"] == server.url + "/" and ready[0]["model"] == "gpt-4o"
        assert ready[0]["backend"] == "cpu" and ready[0]["provider"] == "native" and ready[0]["needs_key"] is False


def test_a_port_in_use_says_by_whom(server):
    second = subprocess.run([program("inferfluxd"), "--port", str(server.port), str(MODEL)], capture_output=True, text=True,
                            timeout=60, env=clean_environment())
    assert second.returncode == 1
    assert f"127.0.0.1:{server.port}: the port is in use by inferfluxd (process {server.process.pid})" in second.stderr


def test_a_key_on_the_command_line_is_asked_for_and_not_shown():
    with ServerProcess("--api-key", "sk-typed") as server:
        url = server.url + "/v1/models"
        assert requests.get(url, timeout=10).status_code == 401
        assert requests.get(url, headers={"Authorization": "Bearer sk-typed"}, timeout=10).status_code == 200
        admin = requests.get(server.url + "/v1/admin/models", headers={"Authorization": "Bearer sk-typed"}, timeout=10)
        assert admin.status_code == 403
        assert "sk-typed" not in server.log() and "needs_key=true" in server.log()


def test_only_so_many_run_at_once():
    with ServerProcess("-np", "1", "-c", "1024") as server:
        model = requests.get(server.url + "/v1/models", timeout=10).json()["data"][0]
        assert model["details"]["context"] == 1024
        body = {"prompt": "Once", "max_tokens": 900, "ignore_eos": True}
        with concurrent.futures.ThreadPoolExecutor(3) as clients:
            answers = [clients.submit(requests.post, server.url + "/v1/completions", json=body, timeout=60) for _ in range(3)]

            def load():
                return requests.get(server.url + "/healthz", timeout=10).json()["models"][0]

            assert eventually(lambda: (load()["running"], load()["queued"]) == (1, 2)), load()
            assert [answer.result().json()["usage"]["completion_tokens"] for answer in answers] == [900] * 3


def test_a_home_in_a_settings_file(tmp_path):
    (tmp_path / "models").mkdir()
    shutil.copy(MODEL, tmp_path / "models" / "mine.gguf")
    settings = tmp_path / "server.yaml"
    settings.write_text("models:\n- path: ~/models/mine.gguf\nruntime:\n  kv_budget: 1GB\n")
    shown = subprocess.run([program("inferfluxd"), "--config", str(settings), "--print-config"], capture_output=True, text=True,
                           timeout=60, env=clean_environment(HOME=str(tmp_path)))
    assert f"path: {tmp_path}/models/mine.gguf" in shown.stdout and "runtime.kv_budget = 1GB" in shown.stdout


def test_several_models_may_be_words_and_flags(tmp_path):
    for name in ("a", "b", "c"):
        shutil.copy(MODEL, tmp_path / f"{name}.gguf")
    shown = subprocess.run([program("inferfluxd"), "a.gguf", "second=b.gguf", "-m", "c.gguf", "--print-config"], capture_output=True, text=True,
                           timeout=60, cwd=tmp_path, env=clean_environment())
    assert re.findall(r"models\[\d\] = \{id: (\w+), path: (\w+)\.gguf", shown.stdout) == [("a", "a"), ("second", "b"), ("c", "c")], shown


def test_a_misspelt_variable_names_the_right_one():
    result = subprocess.run([program("inferfluxd")], capture_output=True, text=True, timeout=60,
                            env=clean_environment(INFERFLUX_SERVER_PROT="1"))
    assert result.returncode == 2 and "did you mean 'INFERFLUX_SERVER_PORT'" in result.stderr
