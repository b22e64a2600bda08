"""The house's own rules, checked on the sources: who may include whom, how large a folder may be, and how code is formatted."""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)

# Within a floor, rooms from the ground up; those of one level do not include each other. A file of the floor's own folder is
# above all of its rooms, unless it is named.
ROOMS = {
    "serving": [["backends"], ["models"], ["generation", "pool"]],
    "server": [["store"], ["request"], ["reply"],
               ["openai", "admin", "health", "anthropic", "ollama", "responses", "live", "page", "files"], ["batches"]],
    "worker": [["contract"], ["remote", "service"], ["pool"]],
}
FAMILIES = SRC / "model/families"
# Where a family's name is allowed outside of its folder: there it is the name of something else.
NO_FAMILY = {
    # GGUF's tokenizer.ggml.model names an algorithm after the first model that had it.
    "text/tokenizer/vocab.h": {"gpt2", "llama", "bert", "gemma", "gemma4"},
    "text/tokenizer/vocabulary.h": {"gpt2", "llama", "bert", "gemma", "gemma4"},
    "text/tokenizer/vocabulary.cpp": {"gpt2", "llama", "bert", "gemma", "gemma4"},
    "model/loading/vocab_from_gguf.cpp": {"gpt2", "llama", "bert", "gemma", "gemma4"},
    # WordPiece is BERT's algorithm, and the word patterns that a scanner matches by hand are GPT-2's.
    "text/tokenizer/algorithms/word_piece.h": {"bert"},
    "text/tokenizer/algorithms/word_piece.cpp": {"bert"},
    "text/tokenizer/pre_tokenizer/word_scanner.h": {"gpt2"},
    "text/tokenizer/pre_tokenizer/word_scanner.cpp": {"gpt2"},
    # Forms of tool calls are found in the text of a chat template, never by a family; each is named after who wrote it first.
    "text/tool_calls/tool_call_syntaxes.cpp": {"llama", "mistral", "granite", "command-r", "gemma", "gemma4", "apertus"},
    "text/reasoning/reasoning_form.cpp": {"gemma", "gemma4"},
    # A value of config.json's rope_type.
    "model/huggingface/metadata.cpp": {"llama"},
    "model/huggingface/tensor_plan.cpp": {"llama"},
}
MOST_FILES = 26  # a folder's sources and its CMakeLists.txt


def sources():
    return sorted(p for p in SRC.rglob("*") if p.suffix in {".h", ".cpp", ".cu", ".inc"})


def includes(path):
    return INCLUDE.findall(path.read_text())


def floors():
    text = (ROOT / "cmake/InferfluxFloor.cmake").read_text()
    return {name: int(level) for name, level in re.findall(r"INFERFLUX_FLOOR_LEVEL_(\w+) (\d+)\)", text)}


def test_each_folder_of_src_is_a_floor():
    assert {p.name for p in SRC.iterdir() if p.is_dir()} <= set(floors())


def test_a_file_includes_only_its_own_floor_and_those_below():
    levels = floors()
    wrong = []
    for path in sources():
        floor = path.relative_to(SRC).parts[0]
        for include in includes(path):
            below = include.split("/")[0]
            if below in levels and below not in (floor, "base") and levels[below] >= levels[floor]:
                wrong.append(f"{path.relative_to(ROOT)} includes {include}")
    assert not wrong


def test_every_include_names_a_file():
    missing = [f"{p.relative_to(ROOT)} includes {i}" for p in sources() for i in includes(p) if not (SRC / i).exists()]
    assert not missing


@pytest.mark.parametrize("floor", ["serving", "server", "worker"])
def test_a_room_includes_only_rooms_below_it(floor):
    level = {room: i for i, rooms in enumerate(ROOMS[floor]) for room in rooms}
    wrong = []
    for path in sources():
        parts = path.relative_to(SRC).parts
        if parts[0] != floor or len(parts) < 3:
            continue
        for include in includes(path):
            names = include.split("/")
            if names[0] != floor or len(names) < 3 or names[1] == parts[1]:
                continue
            if level[names[1]] >= level[parts[1]]:
                wrong.append(f"{path.relative_to(ROOT)} includes {include}")
    assert not wrong


@pytest.mark.parametrize("room", ["serving", "scheduler", "engine", "model", "compute", "text", "formats", "dspy"])
def test_what_is_below_the_server_knows_no_http(room):
    wrong = [str(p.relative_to(ROOT)) for p in sources() if p.relative_to(SRC).parts[0] == room
             for i in includes(p) if i.startswith("net/")]
    assert not wrong


def test_no_folder_is_crowded():
    crowded = {str(d.relative_to(ROOT)): n for d in SRC.rglob("*") if d.is_dir()
               for n in [sum(f.is_file() for f in d.iterdir())] if n > MOST_FILES}
    assert not crowded


def test_no_file_is_long():
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in sources()}
    assert not {name: n for name, n in lengths.items() if n > 600}


def family_names():
    """What the rows of the table call families: architectures of GGUF files, model types of directories."""
    names = set()
    for path in FAMILIES.rglob("*.cpp"):
        text = path.read_text()
        names |= set(re.findall(r'\.architecture = "([^"]+)"', text))
        for types in re.findall(r"\.model_types = \{([^}]*)\}", text):
            names |= set(re.findall(r'"([^"]+)"', types))
    return names


def test_every_family_is_one_file_and_one_row():
    rows = set(re.findall(r"^\s*ROW\((\w+)\)", (FAMILIES / "family.cpp").read_text(), re.M))
    files = {}
    for path in FAMILIES.rglob("*.cpp"):
        for name in re.findall(r"^const Family& (\w+)\(\) \{", path.read_text(), re.M):
            files.setdefault(name, []).append(path.name)
    assert len(rows) > 10
    assert {name: 1 for name in rows} == {name: len(paths) for name, paths in files.items()}


def test_only_its_own_folder_knows_a_family_by_name():
    # As a word ("phi3", "nomic-bert") or as a part of one in camel case ("Phi3Markers", "kGpt2Words").
    patterns = {}
    for name in family_names():
        words = re.split(r"[-_]", name)
        camel = "".join(word.capitalize() for word in words)
        patterns[name] = re.compile(rf"(?<![a-z0-9]){'[-_ ]?'.join(words)}(?![a-z])|{camel}(?![a-z])")
    assert {"llama", "mistral", "qwen3moe", "gpt_oss", "xlm-roberta"} <= set(patterns)
    wrong = []
    for path in sources():
        name = str(path.relative_to(SRC))
        if not name.startswith(("model/", "text/")) or path.is_relative_to(FAMILIES):
            continue
        text = path.read_text().replace("llama.cpp", "").replace("llama-server", "")
        found = {family for family, pattern in patterns.items() if pattern.search(text)}
        if found - NO_FAMILY.get(name, set()):
            wrong.append(f"{path.relative_to(ROOT)}: {sorted(found - NO_FAMILY.get(name, set()))}")
    assert not wrong


@pytest.mark.skipif(not shutil.which("clang-format"), reason="clang-format is not installed")
def test_code_is_formatted():
    names = subprocess.run(["git", "ls-files", "src", "include", "examples", "tests"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    files = [n for n in names if n.endswith((".h", ".cpp", ".cu")) and (ROOT / n).exists()]
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[:4000]
