"""The commands that look after models, JSON, and words in place of flags."""

import json
import re
import shutil
import subprocess

import pytest
from server_process import MODEL, ROOT, ServerProcess, clean_environment, program
from test_inferctl import run

ID = MODEL.stem


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    shutil.copy(MODEL, folder / "other.gguf")
    return folder


@pytest.fixture(scope="module")
def pool(folder):
    with ServerProcess("--models-dir", str(folder), "--kv-budget", "64MiB") as running:
        yield running


def test_run_answers_a_prompt_of_a_word_or_of_a_pipe(server):
    by_words = run("run", ID, "What is", "2+2?", "--url", server.url, "--temperature", "0")
    by_pipe = run("run", ID, "--url", server.url, "--temperature", "0", stdin="What is 2+2?")
    by_dash = run("run", ID, "-", "--url", server.url, "--temperature", "0", stdin="What is 2+2?")
    assert by_words.returncode == 0 and "4" in by_words.stdout and by_words.stderr == ""
    assert by_words.stdout == by_pipe.stdout == by_dash.stdout


def test_run_starts_no_server_but_says_how():
    result = run("run", "llama", "hello", "--url", "http://127.0.0.1:9")
    assert result.returncode == 3 and "start a server with: inferfluxd llama" in result.stderr


def test_a_word_that_is_a_commands_name_is_a_word(server):
    result = run("chat", "--url", server.url, "--temperature", "0", "--max-tokens", "4", "list", "models", "--json")
    assert result.returncode == 0 and json.loads(result.stdout)["choices"]


def test_chat_takes_a_message_once(server):
    assert run("chat", "a", "-m", "b", "--url", server.url).returncode == 2
    assert "4" in run("chat", "-", "--url", server.url, "--temperature", "0", stdin="What is 2+2?").stdout
    stats = run("chat", "What is 2+2?", "--url", server.url, "--stats")
    assert re.fullmatch(r"\(\d+ tokens?(, [\d.]+ tokens/s)?, first after [\d.]+ s\)\n", stats.stderr)


def test_list_ps_and_show(pool):
    for command in ("list", "models"):
        shown = run(command, "--url", pool.url).stdout
        assert ID in shown and "other" in shown and "unloaded" in shown
    ps = run("ps", "--url", pool.url).stdout
    assert ID in ps and "other" not in ps and "until" in ps.lower() and "cpu" in ps
    show = run("show", ID, "--url", pool.url).stdout
    assert re.search(r"^context +\d+$", show, re.M) and str(MODEL) in show and re.search(r"^can +.*chat", show, re.M)
    template = run("show", ID, "--template", "--url", pool.url)
    assert "{%" in template.stdout
    unknown = run("show", "no-such-model", "--url", pool.url)
    assert unknown.returncode == 1 and "no-such-model" in unknown.stderr


def test_a_model_is_loaded_by_a_run_and_stopped(pool):
    assert "4" in run("run", "other", "What is 2+2?", "--temperature", "0", "--url", pool.url).stdout
    assert "other" in run("ps", "--url", pool.url).stdout
    stopped = run("stop", "other", "--url", pool.url)
    assert stopped.returncode == 0 and "other is unloaded" in stopped.stdout and f"the default model is {ID}" in stopped.stdout
    assert "other" not in run("ps", "--url", pool.url).stdout
    again = run("stop", "other", "--url", pool.url)
    assert again.returncode == 1 and "other" in again.stderr


def test_status_says_why_no_model_answers():
    with ServerProcess() as server:
        run("stop", MODEL.stem, "--url", server.url)
        status = run("status", "--url", server.url).stdout
        assert "not ready: no model is loaded" in status and f"{MODEL.stem} was unloaded" in status


def test_rm_is_the_servers_to_allow(pool, folder):
    result = run("rm", ID, "--url", pool.url)  # it lies outside of the models directory
    assert result.returncode == 1 and result.stderr.startswith("inferctl: the server says") and MODEL.exists()


def test_every_command_prints_json(server, tmp_path):
    def value(*words, stdin=""):
        result = run(*words, "--json", stdin=stdin)
        assert result.returncode == 0, (words, result.stderr)
        assert result.stdout.count("\n") == 1
        return json.loads(result.stdout)

    url = ("--url", server.url)
    assert value("list", *url)["data"][0]["id"] == value("models", *url)["data"][0]["id"] == ID
    assert value("ps", *url)["models"][0]["running"] == 0
    assert value("show", ID, *url)["id"] == ID and "{%" in value("show", ID, "--template", *url)["template"]
    status = value("status", *url)
    assert status["ready"] is True and status["models"][0]["id"] == ID and status["version"]["name"] == "inferflux"
    chat = value("chat", "What is 2+2?", "--temperature", "0", *url)
    assert "4" in chat["choices"][0]["message"]["content"] and chat["usage"]["completion_tokens"] > 0
    assert "4" in value("run", ID, "What is 2+2?", "--temperature", "0", *url)["choices"][0]["message"]["content"]
    assert value("complete", "Once", "--max-tokens", "2", *url)["usage"]["completion_tokens"] == 2
    assert value("admin", "models", *url)["data"][0]["state"] == "ready" and "allow_default_fallback" in value("admin", "routing", *url)
    assert value("bench", "-n", "1", "-c", "1", "--prompt-tokens", "4", "--max-tokens", "2", "--vocab", "300", *url)
    assert value("tokenize", str(MODEL), "hello")["tokens"] == value("tokenize", ID, "hello", *url)["tokens"]
    assert value("backends")["backends"]
    assert value("quickstart", "--output", str(tmp_path / "s.yaml"))["output"].endswith("s.yaml")
    (tmp_path / "t").write_text("{{ a }}!")
    assert value("template", str(tmp_path / "t"), "-", stdin='{"a": 1}') == {"text": "1!"}
    lines = run("chat", "--json", "--temperature", "0", *url, stdin="What is 2+2?\nWhat is the capital of France?\n").stdout
    answers = [json.loads(line)["choices"][0]["message"]["content"] for line in lines.splitlines()]
    assert "4" in answers[0] and "Paris" in answers[1]


def test_tokens_and_back(server):
    text = "Hello, w\u00f6rld"
    by_file = run("tokenize", str(MODEL), text).stdout
    assert by_file == run("tokenize", ID, text, "--url", server.url).stdout == run("tokenize", str(MODEL), stdin=text).stdout
    for where in ([str(MODEL)], [ID, "--url", server.url]):
        assert run("tokenize", "--decode", *where, stdin=by_file).stdout == text + "\n"
        assert run("tokenize", "--decode", *where, stdin=json.dumps([int(i) for i in by_file.split()])).stdout == text + "\n"
    wrong = run("tokenize", "--decode", str(MODEL), "one")
    assert wrong.returncode == 2 and "'one'" in wrong.stderr
    far = run("tokenize", "--decode", str(MODEL), "99999999")
    assert far.returncode == 1 and "ids are from 0 to" in far.stderr


@pytest.mark.parametrize("command", ["chat", "ps", "admin load", "tokenize"])
def test_each_help_has_the_options_of_all(command):
    shown = run(*command.split(), "--help").stdout
    assert "Options of every command" in shown
    for flag in ("--url", "--api-key", "--json", "--config", "--log-level"):
        assert flag in shown, flag


def test_the_exit_codes_of_the_page_are_those_of_the_help():
    page = (ROOT / "docs" / "cli.md").read_text()
    table = page[page.index("<!-- exit codes -->"):page.index("<!-- end of the exit codes -->")]
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", table, re.M)
    line = re.search(r"Exit codes: (.*)\.$", run("--help").stdout, re.M).group(1)
    assert line == ", ".join(f"{code} {word}" for code, word, _ in rows)
    header = (ROOT / "src/command_line/exit_codes.h").read_text()
    assert all(meaning in header for _, _, meaning in rows)


def quantize(*words: str) -> subprocess.CompletedProcess:
    try:
        path = program("inferflux-quantize")
    except AssertionError:
        pytest.skip("inferflux-quantize is not built")
    return subprocess.run([path, str(MODEL), *words], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          env=clean_environment())


def test_a_file_is_not_replaced_unasked(tmp_path):
    there = tmp_path / "q.gguf"
    there.write_text("mine")
    refused = quantize(str(there), "Q8_0")
    assert refused.returncode == 2 and "is there already: --force replaces it" in refused.stderr and there.read_text() == "mine"
    assert quantize(str(there), "Q8_0", "--force").returncode == 0 and there.stat().st_size > 1000
    settings = tmp_path / "server.yaml"
    settings.write_text("mine")
    kept = run("quickstart", "--output", str(settings))
    assert kept.returncode == 1 and "--force" in kept.stderr and settings.read_text() == "mine"
    assert run("quickstart", "--output", "-").stdout.startswith("#")
