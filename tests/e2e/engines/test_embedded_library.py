"""libinferflux.so as a program gets it: installed into a fresh prefix, and used from outside the tree."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from server_process import MODEL, ROOT

BUILD = Path(os.environ.get("INFERFLUX_PROGRAMS", ROOT / "build" / "bin")).parent
EXAMPLES = ROOT / "examples"


def run(*command, cwd=None, env=None, timeout=300) -> str:
    """What the command prints; the test fails with all of it where the command does."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, timeout=timeout,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> Path:
    if not (BUILD / "lib" / "libinferflux.so").exists():
        pytest.fail("libinferflux.so is not built; run ./test")
    folder = tmp_path_factory.mktemp("prefix")
    for component in ("library", "development", "programs"):
        run("cmake", "--install", BUILD, "--prefix", folder, "--component", component)
    return folder


@pytest.fixture(scope="module")
def library(prefix) -> Path:
    found = sorted(prefix.glob("lib*/**/libinferflux.so"))
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(scope="module")
def examples(prefix, tmp_path_factory) -> Path:
    """The examples, built outside of the tree against the prefix."""
    folder = tmp_path_factory.mktemp("examples")
    sources = folder / "sources"
    shutil.copytree(EXAMPLES, sources)
    run("cmake", "-S", sources, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", folder / "build", timeout=600)
    return folder / "build"


def test_the_library_has_a_soname(library):
    assert re.search(r"SONAME\s+libinferflux\.so\.0$", run("objdump", "-p", library), re.M)
    assert library.is_symlink() and library.resolve().name.startswith("libinferflux.so.0.")


def test_only_what_the_public_headers_declare_is_exported(library, prefix):
    names = [line.split(maxsplit=2)[2] for line in run("nm", "-D", "--defined-only", "-C", library).splitlines()]
    headers = "".join(header.read_text() for header in (prefix / "include").rglob("*.h"))
    declared = set(re.findall(r"\w+", re.sub(r"//.*", "", headers)))
    public = re.compile(r"(?:(?:vtable|typeinfo|typeinfo name) for )?inferflux::(?:embedded|dspy)::(\w+)")
    found = {name: public.match(name) for name in names if not name.startswith("INFERFLUX_0")}
    wrong = [name for name, match in found.items() if not match or match.group(1) not in declared]
    assert not wrong, wrong[:20]
    exported = {match.group(1) for match in found.values()}
    assert {"Engine", "ModelPool", "ReplyStream", "LanguageModel", "Predict", "Signature", "BootstrapFewShot"} <= exported
    assert not {"Runtime", "PythonRepr", "RunningCall"} & exported


def test_public_headers_are_self_contained(prefix, tmp_path):
    """Each header compiles alone; the plain ones need no Boost and no fmt."""
    include = prefix / "include"
    headers = sorted(include.rglob("*.h"))
    assert len(headers) > 20
    plain = [h for h in headers if h.parent == include / "inferflux" and h.name != "dspy.h"]
    assert {h.name for h in plain} >= {"engine.h", "model_pool.h", "error.h", "generation.h", "load_options.h"}
    for header in plain:
        source = tmp_path / "one.cpp"
        source.write_text(f'#include <{header.relative_to(include)}>\n')
        used = run("g++", "-std=c++20", f"-I{include}", "-M", source)
        assert "boost" not in used and "/fmt/" not in used, header
    source = tmp_path / "all.cpp"
    source.write_text("".join(f"#include <{h.relative_to(include)}>\n" for h in reversed(headers)))
    run("g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror", f"-I{include}", source)


def test_the_plain_example_answers(examples):
    shown = run(examples / "embedded_chat", MODEL, "What is the capital of France?")
    assert "inferflux-tiny on " in shown
    assert "> What is the capital of France?\nThe capital of France is Paris.\n" in shown
    prompt, cached, completion = map(int, re.search(r"tokens: (\d+) prompt \((\d+) cached\), (\d+) completion", shown).groups())
    assert (prompt, cached, completion) == (15, 0, 8)


def test_a_model_that_is_missing_is_named(examples, tmp_path):
    done = subprocess.run([examples / "embedded_chat", tmp_path / "none.gguf"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("ModelNotFound: ") and "none.gguf" in done.stderr


def test_threads_share_the_model(examples):
    shown = run(examples / "embedded_bench", MODEL, 16, 32, 64, 16)
    assert "32 requests on 16 threads" in shown


def test_a_program_of_signatures_answers(examples):
    shown = run(examples / "dspy_qa", "--models-dir", MODEL.parent)
    parts = re.findall(r"^(question -> .*) \((\w+)\)\nanswer: (.*)\ntokens: (\d+) prompt, (\d+) cached, (\d+) completion, (\d+) in total$", shown, re.M)
    assert [(signature, adapter) for signature, adapter, *_ in parts] == [
        ("question -> answer: int", "ChatAdapter"), ("question -> answer: str", "LlamaCppAdapter")]
    assert [answer for _, _, answer, *_ in parts] == ["4", "4"]
    for *_, prompt, cached, completion, total in parts:
        assert int(prompt) > 0 and int(completion) > 0 and int(cached) <= int(prompt)
        assert int(total) == int(prompt) + int(completion)


def test_a_program_asks_a_remote_model(examples, server):
    shown = run(examples / "dspy_remote", server.url + "/v1")
    assert re.fullmatch(r"answer: 4\ntokens: \d+ prompt, \d+ completion\n", shown), shown
    unreachable = subprocess.run([examples / "dspy_remote", "http://127.0.0.1:1/v1"], capture_output=True, text=True, timeout=60)
    assert unreachable.returncode == 1 and unreachable.stderr.startswith("BackendError: http://127.0.0.1:1/v1")


def test_the_http_library_exports_its_adapter_alone(library):
    names = [line.split(maxsplit=2)[2] for line in run("nm", "-D", "--defined-only", "-C", library.parent / "libinferflux-http.so").splitlines()]
    wrong = [n for n in names if not re.match(r"((vtable|typeinfo|typeinfo name) for )?inferflux::dspy::(HttpAdapter|ConnectLm)|INFERFLUX_0", n)]
    assert names and not wrong, wrong[:10]


def test_a_pool_without_the_model_names_what_is_there(examples):
    done = subprocess.run([examples / "dspy_qa", "--models-dir", MODEL.parent, "--model", "nonesuch"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("ModelNotFound: ") and "'nonesuch'" in done.stderr and "inferflux-tiny" in done.stderr


def test_demonstrations_are_worth_fifty_points(examples):
    """On labels that only they reveal (docs/dspy.md). The runs are greedy and the optimiser is seeded."""
    tasks = sorted((EXAMPLES / "data").glob("*.json"))
    command = [examples / "dspy_optimize", "--models-dir", MODEL.parent, "--margin", 50, *tasks]
    shown = run(*command)
    found = {Path(path).stem: (float(plain), float(better)) for path, plain, better in re.findall(
        r"^(\S+): \d+ questions, ([\d.]+)% right; with 4 demonstrations, 4 of them bootstrapped, ([\d.]+)%$", shown, re.M)}
    assert found["sums"][0] >= 90
    assert found["verdicts"][1] >= found["verdicts"][0] + 50
    assert run(*command) == shown


def test_pkg_config_leads_to_the_library(prefix, library, tmp_path):
    """Without CMake: one compiler command, with the plain module."""
    packages = {"PKG_CONFIG_PATH": str(library.parent / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "inferflux", env=packages).split()
    assert run("pkg-config", "--modversion", "inferflux", env=packages).strip() == "0.1.0"
    program = tmp_path / "chat"
    run("g++", "-std=c++20", EXAMPLES / "embedded_chat.cpp", "-o", program, *flags, f"-Wl,-rpath,{library.parent}")
    assert "Paris" in run(program, MODEL, "What is the capital of France?")
    assert "libinferflux.so.0" in run("ldd", program)


def test_installed_programs_find_their_model(prefix):
    """The prefix has the bundled model, which inferctl and inferfluxd serve where no other is named."""
    assert run(prefix / "bin" / "inferctl", "--version").strip()
    assert (prefix / "share" / "inferflux" / "models" / "inferflux-tiny.gguf").exists()
