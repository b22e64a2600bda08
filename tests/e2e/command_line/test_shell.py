"""Completions and manual pages, made from the programs' own tables of options."""

import re
import shutil
import subprocess

import pytest
from server_process import clean_environment, program

PROGRAMS = ["inferfluxd", "inferctl"]
OPTIONAL = ["inferflux-rank", "inferflux-quantize", "inferflux-convert", "inferflux-bench"]  # not in each partial build


def printed(name: str, *words: str) -> str:
    result = subprocess.run([program(name), *words], capture_output=True, text=True, timeout=60, env=clean_environment())
    assert result.returncode == 0, result.stderr
    return result.stdout


def names_in_help(name: str, *words: str) -> set[str]:
    """The options of a help's left column."""
    names = set()
    for line in printed(name, *words, "--help").splitlines():
        if re.match(r"  -", line):
            names |= set(re.findall(r"(?:^|[ ,])(--?[a-z][\w-]*)", line[2:].split("  ")[0]))
    return names


def commands() -> list[str]:
    help_text = printed("inferctl", "--help")
    return re.findall(r"^  ([a-z]+) ", help_text[help_text.index("Subcommands:"):help_text.index("Examples")], re.M)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("form", ["bash", "zsh", "fish", "man"])
def test_each_option_is_there(name, form):
    text = printed(name, "--print-man") if form == "man" else printed(name, "--print-completion", form)
    text = text.replace("\\-", "-").replace("\\fB", " ").replace("\\fR", " ")
    for option in names_in_help(name) - {"-h", "--help"}:
        shown = option
        if form == "fish":
            shown = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}" if len(option) == 2 else f"-o {option[1:]}"
        assert re.search(rf"(?<![\w-]){re.escape(shown)}(?![\w-])", text), f"{option} is not in {name}'s {form}"


@pytest.mark.parametrize("form", ["bash", "zsh", "fish", "man"])
def test_each_command_is_there(form):
    text = printed("inferctl", "--print-man") if form == "man" else printed("inferctl", "--print-completion", form)
    assert len(commands()) > 15
    for command in commands():
        assert re.search(rf"(?<![\w-]){command}(?![\w-])", text), command


def offered(name: str, *words: str, cwd=None) -> list[str]:
    """What bash offers for the last word, as if Tab had been pressed behind it."""
    script = printed(name, "--print-completion", "bash") + f"""
COMP_WORDS=({" ".join(f"'{word}'" for word in (name, *words))})
COMP_CWORD={len(words)}
_{name.replace("-", "_")}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    result = subprocess.run(["bash", "--norc", "--noprofile", "-c", script], capture_output=True, text=True, timeout=60, cwd=cwd)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return [line for line in result.stdout.splitlines() if line]


def test_bash_completes_commands_options_choices_and_files(tmp_path):
    assert set(offered("inferctl", "s")) == {"show", "status", "stop"}
    assert offered("inferctl", "chat", "--sys") == ["--system"]
    assert "--url" in offered("inferctl", "chat", "--u"), "the program's own options work in commands"
    assert set(offered("inferctl", "admin", "lo")) == {"load"}
    assert "--kv-dtype" in offered("inferctl", "admin", "load", "--k")
    assert set(offered("inferfluxd", "--log-level", "")) == {"debug", "info", "warning", "error"}
    assert offered("inferfluxd", "--log-format", "=", "j") == ["json"]
    assert set(offered("inferfluxd", "--page", "")) == {"true", "false"}
    assert "-ngl" in offered("inferfluxd", "-n") and "-np" in offered("inferfluxd", "-n")
    (tmp_path / "server.yaml").touch()
    assert offered("inferfluxd", "--config", "ser", cwd=tmp_path) == ["server.yaml"]
    assert offered("inferctl", "--url", "chat", "comp") == ["complete"], "an option's value is no command"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("name", PROGRAMS + OPTIONAL)
def test_the_shell_itself_takes_the_script(shell, name):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    try:
        program(name)
    except AssertionError:
        pytest.skip(f"{name} is not built")
    script = printed(name, "--print-completion", shell)
    checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0 and checked.stderr == ""


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_roff_takes_the_manual_page(name):
    page = printed(name, "--print-man")
    shown = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-cbou"], input=page, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0 and shown.stderr == "", shown.stderr
    assert "--log-level" in shown.stdout and "EXIT STATUS" in shown.stdout and "interrupted" in shown.stdout
