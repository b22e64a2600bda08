"""`./run --with`: which libraries it installs, and how it configures the build for them. Its scripts are played. And the switches that it sets."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("install-packages", "install-llama-cpp", "install-mlx", "build")


@pytest.fixture()
def run(tmp_path):
    """Runs a copy of the script; returns its exit status, its error, and the calls of the project's scripts."""
    calls = tmp_path / "calls"
    shutil.copy(ROOT / "run", tmp_path / "run")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "build/bin").mkdir(parents=True)
    for path in [*(tmp_path / "scripts" / name for name in SCRIPTS),
                 *(tmp_path / "build/bin" / name for name in ("inferfluxd", "inferctl"))]:
        path.write_text(f'#!/bin/sh\necho "$(basename "$0") $*" >>"{calls}"\n')
        path.chmod(0o755)

    def start(*arguments: str) -> tuple[int, str, list[str]]:
        ended = subprocess.run([str(tmp_path / "run"), *arguments], capture_output=True, text=True, timeout=60, env=os.environ)
        return ended.returncode, ended.stderr, [line.strip() for line in calls.read_text().splitlines()] if calls.exists() else []

    return start


@pytest.mark.parametrize("engines, installs, options", [
    ("llama", ["install-llama-cpp"], "-DENABLE_LLAMA_CPP=ON"),
    ("mlx", ["install-mlx"], "-DENABLE_MLX=ON"),
    ("vulkan", ["install-packages scripts/packages-vulkan.txt", "install-llama-cpp --vulkan"], "-DENABLE_LLAMA_CPP=ON -DENABLE_VULKAN=ON"),
    ("llama,vulkan,mlx", ["install-packages scripts/packages-vulkan.txt", "install-llama-cpp --vulkan", "install-mlx"],
     "-DENABLE_LLAMA_CPP=ON -DENABLE_VULKAN=ON -DENABLE_MLX=ON")])
def test_with_installs_and_builds_these_engines(run, engines, installs, options):
    status, error, calls = run("--with", engines, "--backends")
    assert status == 0, error
    assert calls == ["install-packages", *installs, f"build build {options} -- inferfluxd inferctl", "inferfluxd --backends"]


def test_without_it_nothing_but_the_build_is_done(run):
    assert run("--version")[2] == ["install-packages", "build build -- inferfluxd inferctl", "inferfluxd --version"]


@pytest.mark.parametrize("arguments", [("--with",), ("--with", "cuda"), ("--with", "llama,abacus")])
def test_an_engine_that_it_does_not_know_stops_it_before_anything_is_built(run, arguments):
    status, error, calls = run(*arguments)
    assert status != 0 and "llama" in error and "vulkan" in error
    assert calls == ["install-packages"]


def test_each_switch_of_a_backend_has_a_compile_job():
    declared = re.compile(r"^\s*(?:option|set)\((ENABLE_\w+) ", re.M)
    files = [*(ROOT / "cmake").glob("*.cmake"), *(ROOT / "src").rglob("CMakeLists.txt")]
    switches = {name for file in files for name in declared.findall(file.read_text())}
    compile_job = (ROOT / ".github/workflows/ci.yml").read_text().split("\n  compile:\n")[1]
    jobs = set(re.findall(r"name: (ENABLE_\w+|none)\b", compile_job))
    assert {"ENABLE_LLAMA_CPP", "ENABLE_VULKAN", "ENABLE_MLX", "ENABLE_CUDA"} <= switches
    assert jobs == switches | {"none"}
