"""The command line, as a user runs it."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from server_process import MODEL, PROGRAMS, ROOT, clean_environment, program

CONFORMANCE = Path(os.environ.get("INFERFLUX_CONFORMANCE_DIR", ROOT.parent / "shared" / "conformance"))


def run(*words: str, stdin: str | bytes = "", **environment: str) -> subprocess.CompletedProcess:
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    result = subprocess.run([program("inferctl"), *words], input=data, capture_output=True, timeout=120,
                            env=clean_environment(**environment))
    result.stdout, result.stderr = result.stdout.decode(), result.stderr.decode()
    return result


def need(path: Path) -> Path:
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{path} is missing")
        pytest.skip(f"{path} is missing; set INFERFLUX_CONFORMANCE_DIR")
    return path


def test_one_message(server):
    result = run("chat", "--url", server.url, "-m", "What is the capital of France?", "--temperature", "0")
    assert result.returncode == 0 and "Paris" in result.stdout and result.stderr == ""


def test_a_conversation_from_a_pipe(server):
    result = run("chat", "--url", server.url, "--temperature", "0",
                 stdin="What is 2+2?\n/reset\n/system Answer in one word.\nWhat is the capital of France?\n/nonsense\n/quit\nnever asked\n")
    assert result.returncode == 0
    assert "4" in result.stdout and "no such command" in result.stdout
    assert len(result.stdout.split("(a new conversation)\n")[2].splitlines()[0].split()) == 1, "one word was asked for"


def test_chat_starts_a_server_where_there_is_none_and_ends_it():
    result = run("chat", "-m", "What is 2+2?", "--temperature", "0", INFERFLUX_CLIENT_URL="")
    assert result.returncode == 2 and "client.url" in result.stderr or "address" in result.stderr
    if not (PROGRAMS.parent.parent / "models" / "tiny").exists():
        pytest.skip("the programs do not lie in the source tree")
    result = run("chat", "-m", "What is 2+2?", "--temperature", "0")
    assert result.returncode == 0 and "4" in result.stdout and "starting one" in result.stderr


def test_complete(server):
    by_argument = run("complete", "Once upon a time", "--url", server.url, "--temperature", "0", "--max-tokens", "8")
    by_pipe = run("complete", "--url", server.url, "--temperature", "0", "--max-tokens", "8", stdin="Once upon a time")
    assert by_argument.returncode == 0 and by_argument.stdout.strip() and by_argument.stdout == by_pipe.stdout


def test_sampling_flags_reach_the_server(server):
    greedy = run("complete", "Once upon a time", "--url", server.url, "--temperature", "0", "--max-tokens", "8")
    one_choice = run("complete", "Once upon a time", "--url", server.url, "--top-k", "1", "--max-tokens", "8")
    assert one_choice.returncode == 0 and one_choice.stdout == greedy.stdout
    refused = run("complete", "x", "--url", server.url, "--dry-penalty-last-n", "-2")
    assert refused.returncode == 1 and "dry_penalty_last_n" in refused.stderr


def test_models_and_status(server):
    assert MODEL.stem in run("models", "--url", server.url).stdout
    status = run("status", "--url", server.url, "--ready")
    assert status.returncode == 0 and "ready" in status.stdout and MODEL.stem in status.stdout


def test_no_server_has_an_exit_code_of_its_own():
    for command in (["status"], ["models"], ["list"], ["ps"], ["show", "x"], ["stop", "x"], ["rm", "x"], ["complete", "x"],
                    ["chat", "-m", "x"], ["run", "x", "y"], ["bench", "-n", "1"], ["tokenize", "default", "x"], ["admin", "models"],
                    ["workers", "list"]):
        result = run(*command, "--url", "http://127.0.0.1:9")
        assert result.returncode == 3 and "127.0.0.1:9" in result.stderr and result.stdout.strip() == "", command


def test_what_the_server_refuses_is_said(server):
    result = run("complete", "x", "--url", server.url, "--temperature", "5")
    assert result.returncode == 1 and "temperature" in result.stderr


@pytest.mark.parametrize("words, named", [([], "command"), (["chta"], "'chat'"), (["chat", "--mesage", "x"], "--message"),
                                          (["tokenize"], "MODEL"), (["status", "--url", "ftp://x"], "ftp://x")])
def test_wrong_usage_is_named(words, named):
    result = run(*words)
    assert result.returncode in (1, 2) and named in result.stderr


def test_help_explains_every_command():
    shown = run("--help").stdout
    for command in ("chat", "complete", "models", "status", "tokenize", "template", "Exit codes", "Examples"):
        assert command in shown
    for command in ("chat", "complete", "models", "status", "tokenize", "template"):
        assert run(command, "--help").returncode == 0


@pytest.mark.parametrize("name", ["gpt-2", "llama-spm", "phi-3", "deepseek-llm", "falcon"])
def test_tokenize_prints_the_ids_on_one_line(name):
    folder = need(CONFORMANCE / "tokenizers")
    texts = (folder / f"ggml-vocab-{name}.gguf.inp").read_bytes().split(b"\n__ggml_vocab_test__\n")[:-1]
    ids = (folder / f"ggml-vocab-{name}.gguf.out").read_text().split("\n")
    for text, expected in list(zip(texts, ids))[::9]:
        assert run("tokenize", str(folder / f"ggml-vocab-{name}.gguf"), stdin=text).stdout == expected.strip() + "\n"


def test_template_writes_exactly_the_bytes(tmp_path):
    folder = need(CONFORMANCE / "chat_templates")
    golden = json.loads((folder / "golden.json").read_text())
    cases = golden["cases"][::60]
    for case in cases:
        (tmp_path / "c.json").write_text(json.dumps(case["context"]))
        result = subprocess.run([program("inferctl"), "template", str(folder / case["template"]), str(tmp_path / "c.json"),
                                 "--now", str(golden["now"])], capture_output=True, timeout=60, env=clean_environment())
        if "expected" in case:
            assert result.stdout == case["expected"].encode(), case["case"]
        elif "SecurityError" not in case["error"]:  # Jinja2's sandbox forbids some things that ours may allow
            assert result.returncode == 1 and result.stderr.startswith(b"inferctl: "), case["case"]


def test_broken_files_are_named(tmp_path):
    (tmp_path / "t.jinja").write_text("{% if %}")
    (tmp_path / "c.json").write_text("{}")
    (tmp_path / "bad.json").write_text("{")
    for words in (["t.jinja", "c.json"], ["t.jinja", "bad.json"], ["none.jinja", "c.json"]):
        result = run("template", *(str(tmp_path / w) for w in words))
        assert result.returncode == 1 and str(tmp_path) in result.stderr
    assert run("template", str(tmp_path / "t.jinja"), str(tmp_path / "c.json"), "--now", "yesterday").returncode == 2
    assert run("tokenize", str(tmp_path / "c.json"), stdin="x").returncode == 1
