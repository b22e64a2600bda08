"""The three archives by themselves: Debian's own checker, what they depend on, what their programs contain."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


PROGRAMS = ["inferctl", "inferflux-bench", "inferflux-convert", "inferflux-quantize", "inferflux-rank", "inferflux-worker-cpu",
            "inferfluxd", "libinferflux-http.so.0.1.0", "libinferflux.so.0.1.0"]
# An instruction of each set of kernels, as objdump prints it.
KERNELS = {"avx2": r"vpmaddubsw .*%ymm", "avx-vnni": r"\{vex\} vpdpbusd .*%ymm", "avx512-vnni": r"vpdpbusd .*%zmm",
           "avx512-bf16": r"vdpbf16ps .*%zmm", "amx": r"tdpbssd"}


def output(*command) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.fixture(scope="module")
def trees(packages, tmp_path_factory):
    out = {}
    for name, deb in packages.items():
        out[name] = tmp_path_factory.mktemp(name)
        output("dpkg-deb", "-R", deb, out[name])
    return out


def test_lintian_finds_nothing_that_is_not_listed_with_its_reason(packages):
    checked = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--no-tag-display-limit", *packages.values()],
                             capture_output=True, text=True, timeout=300)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_programs_are_stripped_hardened_and_without_a_path_of_the_build(trees):
    programs = [p for tree in trees.values() for p in tree.rglob("*")
                if p.is_file() and not p.is_symlink() and p.read_bytes()[:4] == b"\x7fELF"]
    assert sorted(program.name for program in programs) == PROGRAMS
    for program in programs:
        sections = output("readelf", "-SW", program)
        assert ".symtab" not in sections and ".debug" not in sections, program
        dynamic = output("readelf", "-d", program)
        assert "BIND_NOW" in dynamic and "RPATH" not in dynamic and "RUNPATH" not in dynamic, program
        content = program.read_bytes()
        for path in (str(ROOT).encode() + b"/", b"build-package", b"/src/base/", b"/home/"):
            assert path not in content, (program, path)


def test_every_set_of_kernels_is_in_the_programs(trees):
    code = output("objdump", "-d", "--no-show-raw-insn", "--section=.text", trees["inferflux"] / "usr/bin/inferflux-worker-cpu")
    assert [name for name, instruction in KERNELS.items() if not re.search(instruction, code)] == []


def test_dependencies_are_found_by_what_the_programs_link(packages):
    depends = output("dpkg-deb", "-f", packages["inferflux"], "Depends")
    for name in ("libc6 (>=", "libstdc++6 (>=", "libssl3 (>=", "libpcre2-8-0 (>=", "adduser"):
        assert name in depends
    assert re.search(r"libinferflux0 \(= [^)]+\), libexpected-dev", output("dpkg-deb", "-f", packages["libinferflux-dev"], "Depends"))


def test_the_settings_are_the_only_conffile(trees):
    assert (trees["inferflux"] / "DEBIAN/conffiles").read_text() == "/etc/inferflux/server.yaml\n"
    assert [str(p.relative_to(trees["inferflux"])) for p in (trees["inferflux"] / "etc").rglob("*") if p.is_file()] == [
        "etc/inferflux/server.yaml"]
