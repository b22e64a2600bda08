"""inferctl quickstart writes settings that a server accepts; inferctl backends prints the table in the documentation."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
import requests
from server_process import MODEL, ROOT, ServerProcess, clean_environment, engines, program

QUESTION = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "temperature": 0, "max_tokens": 16}


def inferctl(*words, cwd=None) -> subprocess.CompletedProcess:
    return subprocess.run([program("inferctl"), *words], cwd=cwd, capture_output=True, text=True, timeout=120,
                          env=clean_environment())


def words_here() -> list[str]:
    return ["auto", *(f"{provider}_{target}" for (target, provider), row in engines().items() if row["available"])]


@pytest.mark.parametrize("word", words_here())
def test_a_server_runs_with_the_file(tmp_path, word):
    model = tmp_path / 'a "quoted" # model.gguf'
    shutil.copy(MODEL, model)
    written = inferctl("quickstart", "--backend", word, "--model", model.name, cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    commands = [shlex.split(line) for line in written.stdout.splitlines()[1:]]
    assert [os.path.basename(c[0]) for c in commands] == ["inferfluxd", "inferctl", "inferctl"]
    assert all(os.access(c[0], os.X_OK) for c in commands), "the commands can be typed as they stand"
    with ServerProcess(*commands[0][1:2], str(tmp_path / commands[0][2]), model=None) as server:
        answer = requests.post(server.url + "/v1/chat/completions", json=QUESTION, timeout=60).json()
        assert "Paris" in answer["choices"][0]["message"]["content"]
        exposure = requests.get(server.url + "/v1/models", timeout=20).json()["data"][0]["backend_exposure"]
        assert exposure["requested_backend"] == word
        if word != "auto":
            assert f"{exposure['provider']}_{exposure['exposed_backend']}" == word


def test_without_a_model_the_one_that_ships_is_served(tmp_path):
    assert inferctl("quickstart", "--output", "mine.yaml", cwd=tmp_path).returncode == 0
    shown = subprocess.run([program("inferfluxd"), "--config", str(tmp_path / "mine.yaml"), "--print-config"],
                           capture_output=True, text=True, env=clean_environment(), timeout=60)
    assert shown.returncode == 0 and "runtime.backend = auto" in shown.stdout, shown.stderr


def test_no_file_is_replaced_unasked(tmp_path):
    (tmp_path / "server.yaml").write_text("mine")
    refused = inferctl("quickstart", "--backend", "cpu", cwd=tmp_path)
    assert refused.returncode == 1 and "--force" in refused.stderr and (tmp_path / "server.yaml").read_text() == "mine"
    assert inferctl("quickstart", "--backend", "cpu", "--force", cwd=tmp_path).returncode == 0
    assert "backend: cpu" in (tmp_path / "server.yaml").read_text()


def test_a_backend_that_is_not_here_is_one_sentence(tmp_path):
    absent = [(key, row) for key, row in engines().items() if not row["available"]]
    assert absent, "this machine has every backend: extend the table"
    for (target, provider), row in absent:
        refused = inferctl("quickstart", "--backend", f"{provider}_{target}", cwd=tmp_path)
        assert refused.returncode == 1 and refused.stderr.count("\n") == 1, refused.stderr
        assert row["reason"] in refused.stderr or "this build has no" in refused.stderr
        assert "what this build has here: cpu" in refused.stderr
    unknown = inferctl("quickstart", "--backend", "abacus", cwd=tmp_path)
    assert unknown.returncode == 2 and "'abacus'" in unknown.stderr and "vulkan" in unknown.stderr
    assert not (tmp_path / "server.yaml").exists()


def test_a_file_that_is_no_model_is_named(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    refused = inferctl("quickstart", "--model", "x.gguf", cwd=tmp_path)
    assert refused.returncode == 1 and "x.gguf" in refused.stderr and not (tmp_path / "server.yaml").exists()


def test_the_table_in_the_documents_is_the_programs():
    text = (ROOT / "docs" / "architecture.md").read_text()
    begin, end = "<!-- inferctl backends --markdown -->\n", "<!-- end of the table -->\n"
    assert text.split(begin)[1].split(end)[0] == inferctl("backends", "--markdown").stdout, "paste what it prints"


def test_backends_are_the_same_in_every_form():
    rows = engines()
    text = inferctl("backends").stdout
    lines = [line.split() for line in text.split("\n\nhardware\n")[0].splitlines()]
    assert {(t, p): here == "yes" for t, p, here, *_ in lines} == {key: row["available"] for key, row in rows.items()}
    assert rows["cpu", "native"]["available"] and rows["cpu", "native"]["devices"][0]["free_bytes"] > 0
    assert all(row["reason"] for row in rows.values() if not row["available"])
    told = subprocess.run([program("inferfluxd"), "--backends"], capture_output=True, text=True, env=clean_environment()).stdout
    free = re.compile(r"[\d.]+ of [\d.]+ GiB free")  # changes from one moment to the next
    told, ranks = told.rstrip("\n").rsplit("\n\n", 1)  # how the ranks of a model reach one another is the server's own
    assert free.sub("", told) == free.sub("", text).rstrip("\n") and "\nhardware\ncpu " in told
    assert "--tensor-parallel" in ranks and "shared memory" in ranks
