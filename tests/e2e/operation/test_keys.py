"""API keys as an operator handles them: made, listed and revoked by inferctl, and taken by a running server at SIGHUP."""

import json
import signal
import subprocess
import time
from datetime import datetime, timedelta, timezone
from functools import partial

import pytest
import requests
from server_process import MODEL, ServerProcess, clean_environment, eventually, program


def keys(file, *words: str, code: int = 0) -> str:
    done = subprocess.run([program("inferctl"), "keys", *words, "--file", str(file)], capture_output=True, text=True,
                          timeout=30, env=clean_environment())
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def status(server, key: str, path="/v1/models", **headers) -> int:
    return requests.get(server.url + path, headers={"Authorization": f"Bearer {key}", **headers}, timeout=10).status_code


@pytest.fixture
def served(tmp_path):
    file = tmp_path / "keys"
    owner = keys(file, "create", "owner", "--scopes", "read,generate,admin").strip()
    with ServerProcess(environment={"INFERFLUX_API_KEYS_FILE": str(file)}) as server:
        yield server, file, owner


def test_a_key_is_made_listed_and_revoked(tmp_path):
    file = tmp_path / "keys"
    secret = keys(file, "create", "ci", "--expires", "90d").strip()
    assert secret.startswith("ifx_") and secret not in file.read_text()
    listed = json.loads(keys(file, "list", "--json"))
    assert [(key["name"], key["scopes"], key["expired"]) for key in listed] == [("ci", "read,generate", False)]
    left = datetime.fromisoformat(listed[0]["expires"].replace("Z", "+00:00")) - datetime.now(timezone.utc)
    assert timedelta(days=89) < left <= timedelta(days=90)
    assert "ci" in keys(file, "list") and "already" in keys(file, "create", "ci", code=1)
    keys(file, "revoke", "ci")
    assert json.loads(keys(file, "list", "--json")) == []
    assert "no key 'ci'" in keys(file, "revoke", "ci", code=1)
    assert "'write'" in keys(file, "create", "x", "--scopes", "write", code=2)
    assert "'soon'" in keys(file, "create", "x", "--expires", "soon", code=2)


def test_a_running_server_takes_new_keys_and_forgets_revoked_ones(served):
    server, file, owner = served
    fresh = keys(file, "create", "fresh").strip()
    assert status(server, fresh) == 401, "not before it is told"
    server.process.send_signal(signal.SIGHUP)
    assert eventually(lambda: status(server, fresh) == 200, 10)
    keys(file, "revoke", "fresh")
    server.process.send_signal(signal.SIGHUP)
    assert eventually(lambda: status(server, fresh) == 401, 10)
    assert status(server, owner) == 200


def test_a_broken_keys_file_changes_nothing_and_is_told(served):
    server, file, owner = served
    file.write_text(file.read_text() + "not a hash\n")
    server.process.send_signal(signal.SIGHUP)
    assert eventually(lambda: "the configuration stays as it was" in server.log(), 10)
    assert ":2:" in server.log()
    assert status(server, owner) == 200
    file.write_text("")
    server.process.send_signal(signal.SIGHUP)
    assert eventually(lambda: "holds no key" in server.log(), 10)
    assert status(server, "anything") == 401, "an empty file opens no door"


def test_a_key_ends_at_its_time(served):
    server, file, _ = served
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
    brief = keys(file, "create", "brief", "--expires", soon).strip()
    server.process.send_signal(signal.SIGHUP)
    if eventually(lambda: status(server, brief) == 200, 2):  # a busy machine may be late
        assert eventually(lambda: status(server, brief) == 401, 10)
    answer = requests.get(server.url + "/v1/models", headers={"Authorization": f"Bearer {brief}"}, timeout=10)
    assert answer.status_code == 401 and "expired on" in answer.text
    assert json.loads(keys(file, "list", "--json"))[1]["expired"]


def test_metrics_need_a_key_that_may_read_them(served):
    server, file, owner = served
    metrics = keys(file, "create", "prometheus", "--scopes", "metrics").strip()
    server.process.send_signal(signal.SIGHUP)
    assert eventually(lambda: status(server, metrics, "/metrics") == 200, 10)
    assert status(server, metrics) == 403, "it may nothing else"
    assert status(server, owner, "/metrics") == 200
    assert requests.get(server.url + "/metrics", timeout=10).status_code == 401
    assert requests.get(server.url + "/healthz", timeout=10).status_code == 200


def test_a_key_that_may_read_generates_nothing(served):
    server, file, owner = served
    reader = keys(file, "create", "reader", "--scopes", "read").strip()
    server.process.send_signal(signal.SIGHUP)
    assert eventually(lambda: status(server, reader) == 200, 10)
    text, chat = {"prompt": "Hi", "max_tokens": 1}, {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    for path, body in (("embeddings", {"input": "Hi"}), ("completions", text), ("chat/completions", chat), ("messages", chat),
                       ("responses", {"input": "Hi", "max_output_tokens": 1}), ("next_tokens", {"prompt": "Hi"})):
        ask = partial(requests.post, server.url + "/v1/" + path, json={"model": MODEL.stem, **body}, timeout=20)
        refused = ask(headers={"Authorization": f"Bearer {reader}"})
        assert refused.status_code == 403 and "'generate'" in refused.text, path
        assert ask(headers={"Authorization": f"Bearer {owner}"}).status_code == 200, path


def test_only_operators_see_where_models_are(served):
    server, file, owner = served
    reader = keys(file, "create", "reader", "--scopes", "read").strip()
    server.process.send_signal(signal.SIGHUP)
    assert eventually(lambda: status(server, reader) == 200, 10)
    for path in ("/v1/models", f"/v1/models/{MODEL.stem}", "/props"):
        texts = [requests.get(server.url + path, headers={"Authorization": f"Bearer {key}"}, timeout=10).text
                 for key in (reader, owner)]
        assert str(MODEL.parent) not in texts[0].replace("\\/", "/"), path
        assert path == "/props" or str(MODEL) in texts[1].replace("\\/", "/")


def test_open_metrics_need_no_key(tmp_path):
    file = tmp_path / "keys"
    keys(file, "create", "owner")
    with ServerProcess(environment={"INFERFLUX_API_KEYS_FILE": str(file), "INFERFLUX_SERVER_OPEN_METRICS": "true"}) as server:
        assert requests.get(server.url + "/metrics", timeout=10).status_code == 200


def test_wrong_keys_are_counted_and_slowed_down_and_right_ones_are_not(served):
    server, _, owner = served
    for _ in range(5):
        assert status(server, "wrong") == 401
    assert requests.get(server.url + "/v1/models", timeout=10).status_code == 401  # no key is no guess
    began = time.monotonic()
    for _ in range(5):
        assert status(server, "wrong") == 401
    assert time.monotonic() - began > 0.05 + 0.1 + 0.2 + 0.4 + 0.8
    answer = requests.get(server.url + "/metrics", headers={"Authorization": f"Bearer {owner}"}, timeout=10)
    assert "inferflux_failed_logins_total 11" in answer.text


def test_a_certificate_waits_with_the_rest_of_a_configuration_that_is_refused(tmp_path):
    """Keys cannot be switched off: nothing of that configuration is applied."""
    file = tmp_path / "keys"
    owner = keys(file, "create", "owner").strip()
    config = tmp_path / "server.yaml"
    config.write_text(f"server: {{api_keys_file: {file}}}\n")
    with ServerProcess("--config", str(config)) as server:
        config.write_text("server: {allowed_hosts: [llm.example]}\n")
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: "keys cannot be switched off" in server.log(), 10)
        assert status(server, owner) == 200 and status(server, "") == 401
        assert status(server, owner, Host="other.example") == 200, "the list of hosts was not taken either"


def test_a_hang_up_never_ends_a_server_and_settings_that_can_change_do(tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text("log: {level: error}\n")
    with ServerProcess("--config", str(config)) as server:
        config.write_text("log: {level: info}\nserver: {allowed_hosts: [llm.example], io_threads: 4}\n")
        assert status(server, "", Host="llm.example") == 403
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: status(server, "", Host="llm.example") == 200, 10)
        assert "server.io_threads differs from the start; that takes effect at the next one" in server.log()
        config.write_text("log: {lvel: info}\n")
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: "lvel" in server.log(), 10)
        assert status(server, "") == 200
