"""docs/Troubleshooting.md lists every error of selecting an engine and loading a model."""

import re

import pytest
from server_process import ROOT

SOURCES = [*sorted((ROOT / "src" / "serving").rglob("*.cpp")),
           *(ROOT / "src" / name for name in (
               "engine/llama_cpp/llama_engine.cpp", "engine/llama_cpp/llama_load.cpp", "engine/native/kv_budget.cpp",
               "engine/native/native_engine.h", "engine/native/step_runner.h",
               "model/families/family.cpp", "model/huggingface/hf_family.cpp", "model/loading/missing_concept.h", "model/loading/model_source.cpp"))]
LITERALS = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
MESSAGE = re.compile(r"(?:Fail\(\s*ErrorCode::\w+,|why_absent = (?:fmt::format\()?|reason = (?:fmt::format\()?)\s*" + LITERALS)


def messages():
    for source in SOURCES:
        for found in MESSAGE.finditer(source.read_text()):
            yield source.name, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(1)))


def test_messages_are_found():
    assert len(list(messages())) > 40


@pytest.mark.parametrize("source, message", list(messages()))
def test_it_is_explained(source, message):
    told = (ROOT / "docs" / "Troubleshooting.md").read_text()
    parts = [part.strip(" '") for part in re.split(r"\{[^}]*\}|[;:,]", message)]
    telling = [part for part in parts if len(part) >= min(12, max(map(len, parts)))]
    assert any(part in told for part in telling), f"{source}: {message}"
